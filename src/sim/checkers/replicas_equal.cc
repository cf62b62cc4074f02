// Replicas are bit-equal: all members that apply a step reduced in one view have the same gradient
// and the same parameters after it, and the members of a view begin it with the same state. (An
// evicted node may have applied a step that the others reduce again. It is never heard of again, so
// only results of one view are compared.)
#include <map>
#include <utility>

#include "sim/checkers/checker.h"

namespace shoal {
namespace {

class ReplicasEqual final : public Checker {
 public:
  std::string_view name() const override { return "replicas equal"; }

  void on(const Event& e) override {
    if (e.kind == EventKind::StepApplied) compare(parameters_, e, "parameters");
    if (e.kind == EventKind::StateAgreed) agree(e);
    if (e.kind == EventKind::WorkerDone) finished(e);
  }

 private:
  using Key = std::pair<std::uint64_t, Generation>;  // step, view in which it was reduced
  struct State {
    std::uint64_t step, hash, lineage;
    bool operator==(const State&) const = default;
  };

  void compare(std::map<Key, std::uint64_t>& known, const Event& e, const char* what) {
    saw();
    const auto [it, fresh] = known.try_emplace({e.a, e.generation}, e.b);
    if (!fresh && it->second != e.b) violated(e, "{} differ: {:#x} before", what, it->second);
  }
  void agree(const Event& e) {
    saw();
    const State state{e.a, e.b, e.c};
    const auto [it, fresh] = agreed_.try_emplace(e.generation, state);
    if (!fresh && !(it->second == state))
      violated(e, "members begin the view differently: step {}, hash {:#x}", it->second.step,
               it->second.hash);
  }
  void finished(const Event& e) {
    saw();
    // The generation of the event is the lineage: another lineage may end with other bits.
    const auto [it, fresh] = results_.try_emplace(e.generation, e.b);
    if (!fresh && it->second != e.b) violated(e, "results differ: {:#x} before", it->second);
  }

  std::map<Key, std::uint64_t> parameters_;
  std::map<Generation, State> agreed_;
  std::map<Generation, std::uint64_t> results_;
};

}  // namespace

std::unique_ptr<Checker> make_replicas_equal() { return std::make_unique<ReplicasEqual>(); }

}  // namespace shoal
