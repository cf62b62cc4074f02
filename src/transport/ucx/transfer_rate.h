// The speed of a carrier's transfers, and the estimated time of the current ones.
//
// The rate is the number of transferred bytes over the time with any transfer in progress, for both
// directions together; older transfers have less weight.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/types.h"

namespace shoal {

// Thread safety: none.
class TransferRate {
 public:
  void began(Bytes size, Time now) {
    note(now);
    under_way_ += size;
  }
  void ended(Bytes size, Time now) {
    SHOAL_CHECK_GE(under_way_, size, "a transfer ended that had not begun");
    note(now);
    under_way_ -= size;
    moved_ += static_cast<double>(size.value());
    if (busy_ < kMemory) return;
    moved_ /= 2;
    busy_ /= 2;
  }
  // Zero while no transfer is in progress; almost zero while the rate is unknown.
  Duration ahead() const {
    if (under_way_ == Bytes(0)) return Duration::zero();
    const double part = static_cast<double>(under_way_.value()) / std::max(moved_, 1.0);
    const Duration known = moved_ > 0 ? busy_ : Duration::zero();
    return std::max(Duration(1), std::chrono::duration_cast<Duration>(part * known));
  }

 private:
  static constexpr Duration kMemory = std::chrono::milliseconds(200);

  void note(Time now) {
    if (under_way_ > Bytes(0)) busy_ += now - last_;
    last_ = now;
  }

  Bytes under_way_{};
  double moved_ = 0;  // bytes, during the time busy_
  Duration busy_{};
  Time last_{};
};

}  // namespace shoal
