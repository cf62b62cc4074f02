// No worker reads while it is further ahead of the slowest one than the bound.
#include "sim/checkers/checker.h"

namespace shoal {
namespace {

class ReadsBounded final : public Checker {
 public:
  std::string_view name() const override { return "reads bounded"; }

  void on(const Event& e) override {
    if (e.kind != EventKind::ReadServed) return;
    saw();
    if (e.a > e.b + e.c)
      violated(e, "a worker at clock {} reads, the slowest is at {}: the bound is {}", e.a, e.b,
               e.c);
  }
};

}  // namespace

std::unique_ptr<Checker> make_reads_bounded() { return std::make_unique<ReadsBounded>(); }

}  // namespace shoal
