// A checkpoint that was reported done is never lost: a load gets that step or a later one, with the
// parameters that were saved.
#include <algorithm>
#include <map>
#include <set>

#include "sim/checkers/checker.h"

namespace shoal {
namespace {

class CheckpointsKept final : public Checker {
 public:
  std::string_view name() const override { return "checkpoints kept"; }

  void on(const Event& e) override {
    if (e.kind == EventKind::CheckpointDone) {
      saw();
      newest_ = std::max(newest_, e.a);
      any_ = true;
      begun_[e.a].insert(e.b);
    } else if (e.kind == EventKind::CheckpointBegun) {
      begun_[e.a].insert(e.b);
    } else if (e.kind == EventKind::CheckpointRead) {
      saw();
      if (e.c == 0) {
        if (any_) violated(e, "no checkpoint was found, although step {} was done", newest_);
        return;
      }
      if (any_ && e.a < newest_)
        violated(e, "step {} was loaded, although {} was done", e.a, newest_);
      if (!begun_[e.a].contains(e.b)) violated(e, "these parameters were never saved");
    }
  }

 private:
  std::uint64_t newest_ = 0;
  bool any_ = false;
  std::map<std::uint64_t, std::set<std::uint64_t>> begun_;  // step -> hashes of saves begun or done
};

}  // namespace

std::unique_ptr<Checker> make_checkpoints_kept() { return std::make_unique<CheckpointsKept>(); }

}  // namespace shoal
