#include "ps/share_handler.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "ps/shard_directories.h"

namespace shoal {

bool ShareWaiters::complete(const View& view, const Groups& groups) const {
  return std::ranges::all_of(view.members, [&](const Member& m) {
    return !leads(view, groups, m.node) || numbers_.contains({m.node, m.incarnation});
  });
}

Task<bool> ShareHandler::share(HostedShard& shard, Holder worker, WantedShare wanted,
                               std::uint64_t clock, GivenShare& given) {
  const ShareWaiters::Asking asks(waiters_, worker, wanted.number);
  shard.changed.notify_all();
  const ParameterServerOptions& ps = server_.options.ps;
  const bool together = staleness_bound(ps.consistency) || goes_by_steps(ps.consistency);
  const auto must_wait = [&] {
    if (shard.busy()) return true;
    if (!server_.is_head(shard) || !server_.present(worker)) return false;
    if (WorkerHandler::left_open(shard, worker)) return true;
    return together && shard.scheduler()->at_start() && wanted.stops == Ending::No &&
           !server_.warming_up(shard) &&
           !waiters_.complete(server_.node.membership.now(), ps.groups);
  };
  while (must_wait()) co_await shard.changed.wait();
  const HostedShard::Turn mine(shard);
  if (!server_.is_head(shard)) co_return false;
  require_present(server_.node, worker);  // Its shares may have been dealt again.
  workers_.stop_if_asked(shard, wanted.stops);
  deal(shard, worker, wanted, clock);
  const SampleScheduler& scheduler = *shard.scheduler();
  given.share = scheduler.shares().dealt(worker.node, worker.life, wanted.number).value_or(Share());
  given.ended = scheduler.ended();
  given.epoch = scheduler.past();
  if (given.share.n == 0 && scheduler.over()) {
    given.over = 1;
    given.epoch = scheduler.epoch();
  }
  co_return true;
}

// In step a round is dealt at once to all workers that will ask for it, in an order that does not
// depend on which is first. REQUIRES: the caller has the turn.
void ShareHandler::deal(HostedShard& shard, Holder worker, const WantedShare& wanted,
                        std::uint64_t clock) {
  const SampleScheduler& scheduler = *shard.scheduler();
  std::vector<Holder> all{worker};
  if (moves_in_step(server_.options.ps.consistency) &&
      !scheduler.shares().dealt(worker.node, worker.life, wanted.number)) {
    all.clear();
    for (const ClockRow& row : server_.table_of(shard).rows) {
      const Holder one{row.worker, row.life};
      const std::uint64_t* const asks = waiters_.number_of(one);
      const bool now =
          asks != nullptr && *asks == wanted.number && !WorkerHandler::left_open(shard, one);
      const bool soon =
          asks == nullptr && scheduler.shares().next(one.node, one.life) == wanted.number;
      if (now || soon) all.push_back(one);
    }
  }
  // A group has the shares of its members, one after the other.
  std::vector<std::uint64_t> members;
  for (const Holder& one : all)
    members.push_back(
        members_of(server_.node.membership.now(), server_.options.ps.groups, one.node));
  const std::uint64_t workers = std::accumulate(members.begin(), members.end(), std::uint64_t{0});
  const std::uint64_t round = std::min(scheduler.left(), wanted.n * workers);
  const auto below = [&](std::uint64_t count) {
    return count * (round / workers) + std::min(count, round % workers);
  };
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool own = all[i].node == worker.node;
    DealRecord record;
    record.wish = {all[i].node,
                   all[i].life,
                   wanted.number,
                   own ? wanted.settled : 0,
                   below(before + members[i]) - below(before),
                   own ? clock : 0};
    before += members[i];
    if (own || record.wish.n > 0) chain_.commit(shard, record);
  }
}

bool ShareHandler::held_back() const {
  return holds_back(server_.options.ps.filter) ||
         (server_.options.form != nullptr && server_.options.form->keeps_residual());
}

Task<void> ShareHandler::bury_lost(HostedShard& shard) {
  while (true) {
    std::optional<Holder> lost;
    {
      const HostedShard::Turn mine = co_await shard.turn();
      if (!server_.is_head(shard)) co_return;
      for (const auto& [worker, open] : shard.scheduler()->shares().all())
        if (!server_.present({worker, open.life})) lost = Holder{worker, open.life};
    }
    if (!lost) co_return;
    std::vector<std::uint64_t> clocks;
    for (std::uint32_t k = 0; k < server_.cuts.size(); ++k) {
      LostPushQuery query;
      query.header.shard = k;
      query.worker = lost->node;
      query.life = lost->life;
      const LostPushAnswer answer = co_await client_.call(query);
      clocks.push_back(answer.clock);
    }
    const HostedShard::Turn mine = co_await shard.turn();
    if (!server_.is_head(shard)) co_return;
    const auto [least, most] = std::ranges::minmax(clocks);
    LoseRecord record;
    record.worker = lost->node;
    record.life = lost->life;
    record.reached = most;
    // The part of its gradients that waited at the worker is lost with it.
    const bool whole = least == most && !held_back();
    record.end = whole ? SampleEnd::Applied : SampleEnd::Partial;
    chain_.commit(shard, record);
  }
}

}  // namespace shoal
