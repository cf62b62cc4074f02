// Every sample counts exactly once: the shares that went into a step, over all members of the view
// it was reduced in, lie end to end without gap or overlap, and end where the ledger stands after
// the step; the next step goes on from there. Positions count on over the epochs.
#include <algorithm>
#include <map>
#include <utility>

#include "sim/checkers/checker.h"

namespace shoal {
namespace {

class SamplesOnce final : public Checker {
 public:
  std::string_view name() const override { return "samples once"; }

  void on(const Event& e) override {
    if (e.kind == EventKind::ShareAdded && e.c > 0)
      shares_[{e.a, e.generation}].push_back({e.b, e.c});
    if (e.kind == EventKind::StepApplied) applied(e);
  }

 private:
  using Key = std::pair<std::uint64_t, Generation>;  // step, view it was reduced in

  void applied(const Event& e) {
    if (e.c == kNoPosition) return;
    saw();
    const Key key{e.a, e.generation};
    // Every share was recorded before any member could have reduced the step: check once.
    const auto known = ends_.find(key);
    if (known != ends_.end()) {
      if (known->second != e.c)
        violated(e, "the ledger stands elsewhere: {} before", known->second);
      return;
    }
    ends_[key] = e.c;
    auto& shares = shares_[key];
    std::ranges::sort(shares);
    if (shares.empty()) return violated(e, "a step without samples");
    std::uint64_t at = shares.front().first;
    const std::uint64_t begin = at;
    for (const auto& [from, count] : shares) {
      if (from != at)
        return violated(e, "positions {}..{} were {}", std::min(from, at), std::max(from, at),
                        from < at ? "dealt twice" : "dealt to nobody");
      at = from + count;
    }
    if (at != e.c) violated(e, "shares end at {}, the ledger stands at {}", at, e.c);
    // The step before, by whichever view: all views agree on where it ended.
    const auto before = position_.find(e.a);
    if (before != position_.end() && begin != before->second)
      violated(e, "the step begins at {}, the one before ended at {}", begin, before->second);
    position_[e.a + 1] = e.c;
  }

  std::map<Key, std::vector<std::pair<std::uint64_t, std::uint64_t>>> shares_;
  std::map<Key, std::uint64_t> ends_;
  std::map<std::uint64_t, std::uint64_t> position_;  // of the ledger before a step
};

}  // namespace

std::unique_ptr<Checker> make_samples_once() { return std::make_unique<SamplesOnce>(); }

}  // namespace shoal
