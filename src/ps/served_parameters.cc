#include "ps/served_parameters.h"

#include <algorithm>
#include <utility>

#include "optim/update.h"
#include "runtime/slices.h"

namespace shoal {

std::uint64_t ServedParameters::least() const {
  return std::ranges::min(shards_, {}, [](const Shard& s) { return s.read.least; }).read.least;
}

bool ServedParameters::too_old(std::uint32_t shard, std::uint64_t clock) const {
  const ParameterServerOptions& ps = worker_.recipe.ps;
  return reads_when_stale(ps.fetch) &&
         shards_[shard].read.least + staleness_bound(ps.consistency).value_or(0) < clock;
}

void ServedParameters::record_use() const {
  const ParameterServerOptions& ps = worker_.recipe.ps;
  if (!reads_when_stale(ps.fetch)) return;
  Event event;
  event.kind = EventKind::ReadServed;
  event.peer = worker_.node.id;
  event.group = kServing;
  event.a = worker_.progress.clock;
  event.b = least();
  event.c = staleness_bound(ps.consistency).value_or(0);
  worker_.node.env.record(event);
}

// ---- Reads

Task<void> ServedParameters::read(std::uint32_t shard) {
  TrainRequest request;
  request.header.shard = shard;
  request.clock = worker_.progress.clock;
  request.reads = 1;
  const TrainAnswer answer = co_await worker_.client.call(request, worker_.room(shard));
  if (answer.header.parameters != 0) took(shard, answer.read);
  if (forms_.in_parts()) co_await forms_.add_waiting(shard, version(shard));
}

Task<void> ServedParameters::move_alone(std::uint32_t shard, Range g, std::uint64_t samples) {
  const ShardCut& cut = worker_.cuts[shard];
  if (std::exchange(shards_[shard].fresh, false) || cut.n == Elements(0)) co_return;
  const Rule plain;
  const UpdateStep step{worker_.eta(version(shard)), 1,
                        worker_.mean ? static_cast<double>(samples) : 1};
  const UpdateTarget here{.w = worker_.of(worker_.replica.parameters(), shard),
                          .g = worker_.of(g, shard),
                          .slots = Range(),
                          .at = cut.at};
  const Sums none;
  co_await apply(worker_.node.env, plain, step, here, none);
}

// ---- What servers send by themselves

Task<void> ServedParameters::follow(std::uint32_t shard) {
  Sent& sent = sent_[shard];
  while (true) {
    FollowRequest request;
    request.header.shard = shard;
    request.clock = shards_[shard].read.least;
    Client::Room here;
    here.w = worker_.next_w(shard);
    sent.answer = co_await worker_.client.call(request, here);
    if (sent.answer.header.parameters == 0 || worker_.progress.left) co_return;
    sent.there = true;
    while (sent.there) co_await looked_.wait();
  }
}

// It is of no use without this worker's last steps.
Task<void> ServedParameters::adopt_what_came() {
  for (std::uint32_t k = 0; k < sent_.size(); ++k) {
    if (!sent_[k].there) continue;
    const FollowAnswer& answer = sent_[k].answer;
    if (answer.clock >= worker_.progress.clock && answer.read.least > shards_[k].read.least) {
      worker_.node.env.probe("ps: what a server sent by itself was used");
      const Range from = worker_.next_w(k);
      const Range to = worker_.of(worker_.replica.parameters(), k);
      co_await in_slices(worker_.node.env, Work::Copy, to.n.value(), to.data().empty(),
                         Order::Forward, 1, [&](std::size_t begin, std::size_t end) {
                           std::copy(from.data().begin() + begin, from.data().begin() + end,
                                     to.data().begin() + begin);
                         });
      shards_[k] = {answer.read, false};
      if (forms_.in_parts()) co_await forms_.add_waiting(k, version(k));
    }
    sent_[k].there = false;
  }
  looked_.notify_all();
}

void ServedParameters::stop_following() {
  for (Sent& sent : sent_) sent.there = false;
  looked_.notify_all();
}

}  // namespace shoal
