// No range is reused, changed or released while the network may still read or write it.
#include "sim/checkers/checker.h"

namespace shoal {
namespace {

class RangesFree final : public Checker {
 public:
  std::string_view name() const override { return "ranges free"; }

  void on(const Event& e) override {
    if (e.kind == EventKind::OpCancelled) saw();  // the moments at which it could go wrong
    if (e.kind == EventKind::RangeReused) violated(e, "a busy range was reused");
  }
};

}  // namespace

std::unique_ptr<Checker> make_ranges_free() { return std::make_unique<RangesFree>(); }

}  // namespace shoal
