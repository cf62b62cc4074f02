// An exchange of models conserves their weighted sum: the changes of all participants, weighted as
// the system weighs them, add up to zero. So a mean of models is preserved, and the center gains
// what a worker loses. An exchange interrupted by a new view may have changed some of its members
// only; when a result is formed, no exchange of that view is half done.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/checkers/checker.h"

namespace shoal {
namespace {

constexpr double kRoundingOfMoves = 4e-6;  // relative to the numbers changed

class MeetingsConserve final : public Checker {
 public:
  std::string_view name() const override { return "meetings conserve"; }

  void on(const Event& e) override {
    if (e.kind == EventKind::ViewSeen) members_[e.generation] = e.a;
    if (e.kind == EventKind::ModelMoved) moved(e);
    if (e.kind == EventKind::ResultFormed) none_open(e);
  }

 private:
  struct Exchange {
    std::uint64_t parts = 0;
    double sum = 0, size = 0;
  };
  // View, the two nodes or twice nobody, number.
  using Key = std::tuple<Generation, NodeId, NodeId, std::uint64_t>;

  void moved(const Event& e) {
    saw();
    const bool all = e.peer == kNobody;
    const bool alone = e.peer == e.node;
    // Both nodes of a pair report their exchanges in order.
    const std::uint64_t number = all || alone ? e.c : told_[{e.generation, e.node, e.peer, 0}]++;
    const Key key{e.generation, all ? kNobody : std::min(e.node, e.peer),
                  all ? kNobody : std::max(e.node, e.peer), number};
    Exchange& exchange = open_[key];
    ++exchange.parts;
    exchange.sum += std::bit_cast<double>(e.a);
    exchange.size += std::bit_cast<double>(e.b);
    const std::uint64_t wanted = all ? members_[e.generation] : alone ? 1 : 2;
    if (exchange.parts < wanted) return;
    if (!(std::abs(exchange.sum) <= kRoundingOfMoves * exchange.size))
      violated(e, "an exchange of {} has changed the sum of models by {}, of {}", wanted,
               exchange.sum, exchange.size);
    open_.erase(key);
  }
  void none_open(const Event& e) {
    const Key first{e.generation, NodeId(0), NodeId(0), 0};
    const auto it = open_.lower_bound(first);
    if (it == open_.end() || std::get<0>(it->first) != e.generation) return;
    violated(e, "a result is formed while an exchange of nodes {} and {} is half done",
             std::get<1>(it->first), std::get<2>(it->first));
  }

  std::map<Generation, std::uint64_t> members_;
  std::map<Key, Exchange> open_;
  std::map<Key, std::uint64_t> told_;
};

}  // namespace

std::unique_ptr<Checker> make_meetings_conserve() { return std::make_unique<MeetingsConserve>(); }

}  // namespace shoal
