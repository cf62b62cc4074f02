// No message of an earlier view is received once the node knows a later one. (At the very moment
// when the view arrives, an operation may still complete.)
#include <map>
#include <utility>

#include "sim/checkers/checker.h"

namespace shoal {
namespace {

class NoStaleMessage final : public Checker {
 public:
  std::string_view name() const override { return "no stale message"; }

  void on(const Event& e) override {
    if (e.kind == EventKind::ViewSeen) {
      views_[{e.node, e.incarnation}] = {e.generation, e.at};
    } else if (e.kind == EventKind::RecvDone && e.generation != Generation(0)) {
      saw();
      const auto it = views_.find({e.node, e.incarnation});
      if (it == views_.end()) return violated(e, "received before any view");
      const auto& [generation, since] = it->second;
      if (e.generation < generation && e.at > since)
        violated(e, "a message of view {} was received in view {}", e.generation, generation);
    }
  }

 private:
  std::map<std::pair<NodeId, Incarnation>, std::pair<Generation, Time>> views_;
};

}  // namespace

std::unique_ptr<Checker> make_no_stale_message() { return std::make_unique<NoStaleMessage>(); }

}  // namespace shoal
