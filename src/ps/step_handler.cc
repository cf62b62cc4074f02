#include "ps/step_handler.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "ps/groups.h"
#include "ps/read_gate.h"
#include "ps/shard_directories.h"
#include "runtime/slices.h"

namespace shoal {

Task<void> StepHandler::answer(NodeId from, TrainRequest request,
                               std::optional<Gradient> gradient) {
  HostedShard& shard = server_.shards[request.header.shard];
  const Holder worker{from, request.header.life};
  TrainAnswer answer;
  Pushing pushing{worker, request};
  co_await push(shard, pushing, std::move(gradient));
  answer.staleness = pushing.staleness;
  if (shard.announced.end({from, request.header.number})) shard.changed.notify_all();
  bool dealt = true;
  if (request.wanted.n > 0)
    dealt = co_await shares_.share(shard, worker, request.wanted, request.clock, answer.given);
  co_await chain_.until_acknowledged(shard);

  Payload payload;
  if (server_.is_head(shard) && dealt && answer.given.over == 0 && request.reads != 0) {
    ReadGate gate(server_, shard, worker, pushing.clock);
    while (server_.is_head(shard) && gate.closed()) co_await shard.changed.wait();
    if (server_.is_head(shard)) {
      gate.pass(answer.read, payload);
      if (compensation_.on()) compensation_.note_read(shard, from, payload.parameters);
    }
  }
  if (!dealt) answer.header.outcome = RequestOutcome::NotHere;
  co_await answers_.reply_as_head(from, request, answer, std::move(payload));
}

Task<void> StepHandler::push(HostedShard& shard, Pushing& pushing,
                             std::optional<Gradient> gradient) {
  const TrainRequest& request = pushing.request;
  const Holder worker = pushing.worker;
  pushing.change = co_await change_by(shard, request.push, gradient);
  const HostedShard::Turn mine = co_await turn_of(shard, request);
  require_present(server_.node, worker);  // The shares of a lost worker may have been dealt again.
  if (!server_.is_head(shard)) co_return;
  workers_.enter_if_out(shard, worker, request.clock);
  pushing.clock = shard.row(worker)->clock;
  const std::uint64_t after = request.clock + request.push.steps;
  if (request.push.samples == 0 || after <= shard.row(worker)->clock) {
    if (request.push.samples > 0) server_.node.env.probe("ps: a push came twice");
    co_return;
  }
  const Admission admission = co_await admitted(shard, pushing);
  if (admission == Admission::Later) co_return;
  const std::uint64_t version = shard.state->version();
  pushing.staleness = version - std::min(version, request.push.based_on);
  if (admission == Admission::Never) {
    server_.node.env.probe("ps: a push was rejected");
    chain_.commit(shard, RejectRecord{{}, worker.node, worker.life, after});
  } else {
    const bool norms = rounds(server_.plan.rule) > 0;
    Made made = record_of(shard, pushing, after);
    made.record.completes = made.completes && !norms ? 1 : 0;
    // Where no one waits for the update, the worker goes on, and uses its range again.
    if (compensation_.on()) {
      gradient =
          co_await compensation_.corrected(shard, worker.node, request.push.samples, *gradient);
    } else if (!made.completes && !goes_by_steps(server_.options.ps.consistency)) {
      gradient = co_await copy_of(*gradient);
    }
    chain_.commit(shard, made.record, std::move(gradient));
    if (made.completes && norms) norms_.begin_measuring(shard);
  }
  pushing.clock = after;
  shard.row(worker)->waits = true;  // until it reads
}

StepHandler::Made StepHandler::record_of(const HostedShard& shard, const Pushing& pushing,
                                         std::uint64_t after) const {
  const Consistency& consistency = server_.options.ps.consistency;
  const ShardState& state = *shard.state;
  ClockTable table;
  if (counts_clocks(consistency)) table = server_.table_of(shard);
  if (ClockRow* const own = table.find(pushing.worker.node, pushing.worker.life))
    own->clock = after;
  // A push that comes after its step was made without it waits for no other.
  const bool late = moves_in_step(consistency) && after <= state.version();
  Made made;
  made.completes =
      late || completes(consistency, table, state.waiting_pushes() + 1, state.version());
  PushRecord& record = made.record;
  record.worker = pushing.worker.node;
  record.life = pushing.worker.life;
  record.clock = after;
  record.based_on = pushing.request.push.based_on;
  record.samples = pushing.request.push.samples;
  record.change = pushing.change;
  record.weight = weight_of(pushing.staleness);
  record.version = version_after(consistency, table, state.version());
  return made;
}

std::uint64_t StepHandler::workers() const {
  const View& view = server_.node.membership.now();
  const auto is_leader = [&](const Member& m) {
    return leads(view, server_.options.ps.groups, m.node);
  };
  return static_cast<std::uint64_t>(std::ranges::count_if(view.members, is_leader));
}

double StepHandler::weight_of(std::uint64_t staleness) const {
  switch (server_.options.ps.weigh) {
    case Weigh::Staleness: return 1 / (1 + static_cast<double>(staleness));
    case Weigh::Workers: return 1 / static_cast<double>(workers());
    case Weigh::Even: break;
  }
  return 1;
}

// Lets others have the turn as long as the push must wait; then it has the turn again.
Task<Admission> StepHandler::admitted(HostedShard& shard, const Pushing& pushing) {
  const Consistency& consistency = server_.options.ps.consistency;
  const Holder worker = pushing.worker;
  const auto admission = [&] {
    ClockTable others;
    if (limits_change(consistency)) others = server_.table_of(shard);
    return admits(consistency, others, *shard.row(worker), shard.state->version(),
                  pushing.request.push.based_on, pushing.change);
  };
  if (admission() != Admission::Later) co_return admission();
  server_.node.env.probe("ps: a push had to wait");
  shard.row(worker)->waits = true;
  shard.pause_turn();
  const auto must_wait = [&] {
    if (shard.at_work()) return true;
    return server_.is_head(shard) && shard.row(worker) != nullptr && server_.present(worker) &&
           admission() == Admission::Later;
  };
  while (must_wait()) co_await shard.changed.wait();
  shard.resume_turn();
  // Shares of a lost worker may have been counted already, without this push.
  if (!server_.is_head(shard) || shard.row(worker) == nullptr || !server_.present(worker))
    co_return Admission::Later;
  shard.row(worker)->waits = false;
  co_return Admission::Now;
}

Task<Gradient> StepHandler::copy_of(Gradient gradient) {
  const Node& node = server_.node;
  const Elements n(gradient.bytes.size.value() / sizeof(float));
  auto own = std::make_shared<Arena>(node.endpoint, n, server_.substance);
  co_await copy(node.env, own->all(), reinterpret_cast<const float*>(gradient.bytes.data));
  Gradient copied{own->bytes(), own};
  co_return copied;
}

// The value bound is confined to plain SGD, which changes a parameter by eta max |g| / B.
Task<double> StepHandler::change_by(const HostedShard& shard, const Push& push,
                                    const std::optional<Gradient>& gradient) {
  double most = 0;
  if (!limits_change(server_.options.ps.consistency) || push.samples == 0) co_return most;
  const auto* const g = reinterpret_cast<const float*>(gradient->bytes.data);
  const std::size_t n = server_.cuts[shard.number].n.value();
  co_await in_slices(server_.node.env, Work::Reduce, n, g == nullptr, Order::Forward, 1,
                     [&](std::size_t from, std::size_t to) {
                       for (std::size_t i = from; i < to; ++i)
                         most = std::max(most, std::abs(static_cast<double>(g[i])));
                     });
  const double eta = server_.plan.eta(shard.state ? shard.state->version() : 0);
  const double change = eta * most / (server_.plan.mean ? static_cast<double>(push.samples) : 1);
  co_return change;
}

// Dai et al. 2015 (ESSP): what is new goes to those who want it when the slowest has advanced.
Task<void> StepHandler::answer(NodeId from, FollowRequest request) {
  HostedShard& shard = server_.shards[request.header.shard];
  const Holder worker{from, request.header.life};
  const auto here = [&] {
    return server_.is_head(shard) && shard.row(worker) != nullptr && !shard.row(worker)->away;
  };
  while (here() && server_.least_of(shard, request.clock) <= request.clock)
    co_await shard.changed.wait();
  FollowAnswer answer;
  Payload payload;
  if (here()) {
    answer.clock = shard.row(worker)->clock;
    answer.read.least = server_.least_of(shard, request.clock);
    payload.version = answer.read.version = shard.state->version();
    payload.parameters = shard.state->parameters();
  }
  co_await answers_.reply_as_head(from, request, answer, std::move(payload));
}

}  // namespace shoal
