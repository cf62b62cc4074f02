// An asynchronous message between members arrives once, in order and unchanged, and none is in
// flight when the members form a result. Only messages of a view are lost with that view.
#include <deque>
#include <map>
#include <tuple>

#include "sim/checkers/checker.h"

namespace shoal {
namespace {

class LettersOnce final : public Checker {
 public:
  std::string_view name() const override { return "messages once"; }

  void on(const Event& e) override {
    if (e.kind == EventKind::MessageSent) {
      saw();
      under_way_[{e.generation, e.node, e.peer, e.a}].push_back(e.b);
    }
    if (e.kind == EventKind::MessageTaken) taken(e);
    if (e.kind == EventKind::ResultFormed) none_left(e);
  }

 private:
  // View, sender, receiver, kind.
  using Way = std::tuple<Generation, NodeId, NodeId, std::uint64_t>;

  void taken(const Event& e) {
    saw();
    std::deque<std::uint64_t>& messages = under_way_[{e.generation, e.peer, e.node, e.a}];
    if (messages.empty()) {
      violated(e, "a message arrived that was not sent, or arrived twice");
      return;
    }
    if (messages.front() != e.b)
      violated(e, "a message was {:#x} when it was sent", messages.front());
    messages.pop_front();
  }
  void none_left(const Event& e) {
    const Way first{e.generation, NodeId(0), NodeId(0), 0};
    for (auto it = under_way_.lower_bound(first); it != under_way_.end(); ++it) {
      const auto& [generation, from, to, kind] = it->first;
      if (generation != e.generation) break;
      if (!it->second.empty())
        violated(e, "{} messages from node {} to node {} are in flight when a result is formed",
                 it->second.size(), from, to);
    }
  }

  std::map<Way, std::deque<std::uint64_t>> under_way_;
};

}  // namespace

std::unique_ptr<Checker> make_messages_once() { return std::make_unique<LettersOnce>(); }

}  // namespace shoal
