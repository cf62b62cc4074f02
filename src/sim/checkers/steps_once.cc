// Every step is applied exactly once. An incarnation of a node applies consecutive steps, beginning
// where its view agreed; no view goes back, except to a new lineage. A view may agree on a later
// step than a member has made; the member then copies the state.
#include <map>
#include <utility>

#include "sim/checkers/checker.h"

namespace shoal {
namespace {

class StepsOnce final : public Checker {
 public:
  std::string_view name() const override { return "steps once"; }

  void on(const Event& e) override {
    const std::pair life{e.node, e.incarnation};
    if (e.kind == EventKind::StepApplied) {
      saw();
      const auto it = next_.find(life);
      if (it != next_.end() && it->second.step != e.a)
        violated(e, "step {} applied where {} was next", e.a, it->second.step);
      Next& next = next_[life];
      next.step = e.a + 1;
    } else if (e.kind == EventKind::StateAgreed) {
      saw();
      const auto it = next_.find(life);
      if (it != next_.end() && it->second.lineage == e.c && e.a < it->second.step)
        violated(e, "the view begins at step {}, this node was at {}", e.a, it->second.step);
      next_[life] = Next{e.a, e.c};
    }
  }

 private:
  struct Next {
    std::uint64_t step = 0, lineage = 0;
  };
  std::map<std::pair<NodeId, Incarnation>, Next> next_;
};

}  // namespace

std::unique_ptr<Checker> make_steps_once() { return std::make_unique<StepsOnce>(); }

}  // namespace shoal
