#include "launch/verdict.h"

namespace shoal {

Next Verdict::ended(std::uint32_t rank, const Ended& ended, bool ending) {
  if (!ended.failed()) {
    ++finished_;
    return Next::Wait;
  }
  if (!ending && restarts_ < policy_.restarts) {
    ++restarts_;
    return Next::Restart;
  }
  if (!first_) first_ = Failure{rank, ended};
  return ending || policy_.keep_going ? Next::Wait : Next::EndOthers;
}

int Verdict::status() const {
  if (!first_ || (policy_.keep_going && finished_ > 0)) return 0;
  return first_->ended.status();
}

}  // namespace shoal
