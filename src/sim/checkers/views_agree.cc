// A node sees growing generations, and all nodes see the same view for a generation.
#include <map>
#include <utility>

#include "sim/checkers/checker.h"

namespace shoal {
namespace {

class ViewsAgree final : public Checker {
 public:
  std::string_view name() const override { return "views agree"; }

  void on(const Event& e) override {
    if (e.kind != EventKind::ViewSeen) return;
    saw();
    Generation& last = last_[{e.node, e.incarnation}];
    if (e.generation <= last) violated(e, "view {} after view {}", e.generation, last);
    last = e.generation;
    const auto [it, fresh] = members_.try_emplace(e.generation, e.b);
    if (!fresh && it->second != e.b) violated(e, "it has other members elsewhere");
  }

 private:
  std::map<std::pair<NodeId, Incarnation>, Generation> last_;
  std::map<Generation, std::uint64_t> members_;  // hash of the members
};

}  // namespace

std::unique_ptr<Checker> make_views_agree() { return std::make_unique<ViewsAgree>(); }

}  // namespace shoal
