#include "ps/hosted_shard.h"

#include <algorithm>

namespace shoal {

bool AnnouncedPushes::awaited(std::uint64_t before) const {
  return std::ranges::any_of(all_, [&](const auto& a) { return a.second < before; });
}

Task<HostedShard::Turn> HostedShard::turn() {
  while (at_work()) co_await changed.wait();
  co_return Turn(*this);
}

Task<HostedShard::Turn> HostedShard::turn_of_push(std::uint64_t clock) {
  struct Waiting {
    std::multiset<std::uint64_t>& all;
    std::multiset<std::uint64_t>::iterator at;
    ~Waiting() { all.erase(at); }
  };
  const Waiting waiting{waiting_, waiting_.insert(clock)};
  while (at_work() || measuring || *waiting_.begin() < clock) co_await changed.wait();
  co_return Turn(*this);
}

Task<void> HostedShard::run_update() {
  co_await state->update();
  updating_ = false;
  changed.notify_all();
}

}  // namespace shoal
