// Every sample counts exactly once: the shares of a step, over all members of the view in which it
// was reduced, are adjacent, without gap or overlap, and end where the ledger stands after the
// step. The next step continues from there. Positions are counted over all epochs.
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
  using Key = std::pair<std::uint64_t, Generation>;  // step, view in which it was reduced

  void applied(const Event& e) {
    if (e.c == kNoPosition) return;
    saw();
    const Key key{e.a, e.generation};
    // Every share was recorded before any member could have reduced the step, so one check is
    // enough.
    const auto known = ends_.find(key);
    if (known != ends_.end()) {
      if (known->second != e.c)
        violated(e, "the ledger stands elsewhere, at {}, for other members", known->second);
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
                        from < at ? "dealt twice" : "dealt to no member");
      at = from + count;
    }
    if (at != e.c) violated(e, "shares end at {}, the ledger stands at {}", at, e.c);
    // The step before, of any view: all views agree where it ended.
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
