#include "launch/verdict.h"

#include <csignal>

namespace shoal {
namespace {

bool was_killed(const Ended& ended) {
  return ended.signal != 0 || ended.code == 128 + SIGKILL;  // the latter on another host
}

}  // namespace

bool Verdict::failed(const Ended& ended, bool ending) const {
  if (!ended.failed()) return false;
  if (policy_.stopped == 0) return true;
  return ended.signal == 0 ? ended.code != policy_.stopped : !(ending && ended.signal == SIGTERM);
}

Next Verdict::ended(std::uint32_t rank, const Ended& ended, bool ending) {
  if (!failed(ended, ending)) {
    ++finished_;
    stopped_ = stopped_ || ended.failed();
    return Next::Wait;
  }
  const bool of_use = !policy_.only_killed || was_killed(ended);
  if (!ending && of_use && restarts_ < policy_.restarts) {
    ++restarts_;
    return Next::Restart;
  }
  if (!first_) first_ = Failure{rank, ended};
  return ending || policy_.keep_going ? Next::Wait : Next::EndOthers;
}

int Verdict::status() const {
  if (first_ && !(policy_.keep_going && finished_ > 0)) return first_->ended.status();
  return stopped_ ? policy_.stopped : 0;
}

}  // namespace shoal
