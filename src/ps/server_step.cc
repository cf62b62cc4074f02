// A fifth of a server: what it does for a worker's step. The gradient comes in, a share goes out,
// and the parameters when the gate lets them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ps/server.h"
#include "runtime/slices.h"

namespace shoal {

Task<void> Server::answer_train(NodeId from, Ask ask, std::optional<Gradient> gradient,
                                TaskGroup& tasks) {
  HostedShard& held = held_[ask.shard];
  Answer answer;
  co_await push(held, ask, std::move(gradient), answer, tasks);
  if (held.announced.erase({from, ask.number}) > 0) held.changed.notify_all();
  bool dealt = true;
  if (ask.wants_share > 0 && in_rounds()) {
    dealt = co_await share_of_round(held, ask, answer, tasks);
  } else if (ask.wants_share > 0) {
    dealt = co_await share(held, ask, answer, tasks);
  }
  co_await until_at_all(held);

  Payload payload;
  if (is_head(held) && dealt && answer.kind == Answer::Kind::Fine && ask.wants_read != 0) {
    const auto row = [&] { return held.state->table().find(from, ask.life); };
    const std::uint64_t before = held.announcements;
    const bool backup =
        goes_by_steps(options_.ps.consistency) && !moves_in_step(options_.ps.consistency);
    const auto waits = [&] {
      return is_awaited(held, before) || (backup && held.state->waits(from)) ||
             !may_read_now(held, answer.clock);
    };
    if (row() != nullptr) row()->waits = true;
    while (is_head(held) && waits()) co_await held.changed.wait();
    if (is_head(held)) {
      record_read(held, from, answer.clock);
      payload.parameters = held.state->parameters();
      answer.version = held.state->version();
      answer.least = least_of(held, answer.clock);
      if (compensates(options_.ps.compensation)) held.read[from] = payload.parameters;
      if (ClockRow* const own = row()) {
        own->waits = false;
        own->unseen = 0;
        own->version = answer.version;
      }
      held.changed.notify_all();
    }
  }
  if (!is_head(held) || !dealt) {
    answer.kind = Answer::Kind::NotHere;
    payload = Payload();
  }
  co_await reply(from, ask, answer, std::move(payload));
}

// Hsieh et al. 2017 (Gaia): a push that was announced before is not in yet.
bool Server::is_awaited(const HostedShard& held, std::uint64_t before) {
  return std::ranges::any_of(held.announced, [&](const auto& a) { return a.second < before; });
}

// All workers' steps up to it have come here.
std::uint64_t Server::least_of(const HostedShard& held, std::uint64_t otherwise) const {
  return held.state->table().least(node_.membership.now()).value_or(otherwise);
}

bool Server::may_read_now(HostedShard& held, std::uint64_t clock) const {
  const Consistency& c = options_.ps.consistency;
  if (in_rounds()) return may_read_round(held, clock);
  if (!moves_in_step(c) && !staleness_bound(c)) return true;
  return may_read(c, table_of(held), clock, held.state->version(), held.state->waiting_pushes());
}

// Dai et al. 2015 (ESSP): what is new goes to those who want it when the slowest has advanced.
Task<void> Server::answer_follow(NodeId from, Ask ask) {
  if (in_rounds()) co_return co_await answer_follow_round(from, ask);
  HostedShard& held = held_[ask.shard];
  const auto row = [&] { return held.state->table().find(from, ask.life); };
  const auto here = [&] { return is_head(held) && row() != nullptr && !row()->away; };
  while (here() && least_of(held, ask.clock) <= ask.clock) co_await held.changed.wait();
  Answer answer;
  Payload payload;
  if (!is_head(held)) {
    answer.kind = Answer::Kind::NotHere;
  } else if (here()) {
    answer.clock = row()->clock;
    answer.least = least_of(held, ask.clock);
    answer.version = held.state->version();
    payload.parameters = held.state->parameters();
  }
  co_await reply(from, ask, answer, std::move(payload));
}

void Server::record_read(const HostedShard& held, NodeId reader, std::uint64_t clock) {
  const std::optional<std::uint64_t> bound = staleness_bound(options_.ps.consistency);
  if (!bound) return;
  const std::optional<std::uint64_t> least = held.state->table().least(node_.membership.now());
  if (!least) return;
  Event event;
  event.kind = EventKind::ReadServed;
  event.peer = reader;
  event.group = kServing;
  event.a = clock;
  event.b = *least;
  event.c = *bound;
  // In step a clock may lag behind the version, after a server was lost with its shard.
  if (moves_in_step(options_.ps.consistency)) event.b = std::max(event.b, held.state->version());
  // Of a round all that comes before was in the parameters when it was dealt.
  if (in_rounds()) event.b = std::max(event.b, clock);
  node_.env.record(event);
}

Task<void> Server::push(HostedShard& held, const Ask& ask, std::optional<Gradient> gradient,
                        Answer& answer, TaskGroup& tasks) {
  const double change = co_await change_by(ask, gradient);
  const Turn mine = co_await turn_of(held, ask);
  require_present(node_, {ask.worker, ask.life});  // It may have been buried.
  if (!is_head(held)) co_return;
  const auto row = [&] { return held.state->table().find(ask.worker, ask.life); };
  if (row() == nullptr || row()->away) enter(held, ask, tasks);
  if (in_rounds()) co_return push_sum(held, ask, std::move(gradient), answer, tasks);
  answer.clock = row()->clock;
  const std::uint64_t after = ask.clock + ask.steps;
  if (ask.samples == 0 || after <= row()->clock) {
    if (ask.samples > 0) node_.env.probe("ps: a push came twice");
    co_return;
  }
  const Admission admission = co_await admitted(held, ask, change);
  if (admission == Admission::Later) co_return;
  ShardState& state = *held.state;
  Record record;
  record.worker = ask.worker;
  record.life = ask.life;
  record.clock = after;
  record.based_on = ask.based_on;
  record.samples = ask.samples;
  record.change = change;
  answer.staleness = state.version() - std::min(state.version(), ask.based_on);
  if (options_.ps.weigh == Weigh::Staleness)
    record.weight = 1 / (1 + static_cast<double>(answer.staleness));
  if (options_.ps.weigh == Weigh::Workers) record.weight = 1 / static_cast<double>(workers());
  if (admission == Admission::Never) {
    node_.env.probe("ps: a push was rejected");
    record.kind = Record::Kind::Reject;
    commit(held, record, tasks);
  } else {
    record.kind = Record::Kind::Push;
    ClockTable table;
    if (counts_clocks(options_.ps.consistency)) table = table_of(held);
    if (ClockRow* const own = table.find(ask.worker, ask.life)) own->clock = after;
    const std::uint64_t pushes = state.waiting_pushes() + 1;
    // One that comes after its step was made without it waits for nobody.
    const bool late = moves_in_step(options_.ps.consistency) && after <= state.version();
    const bool complete =
        late || completes(options_.ps.consistency, table, pushes, state.version());
    const bool norms = rounds(plan_.rule) > 0;
    record.complete = complete && !norms ? 1 : 0;
    record.version = version_after(options_.ps.consistency, table, state.version());
    // Where nobody waits the worker goes on, and uses its range again.
    if (compensates(options_.ps.compensation)) {
      gradient = co_await compensated(held, ask, *gradient);
    } else if (!complete && !goes_by_steps(options_.ps.consistency)) {
      gradient = co_await copy_of(*gradient);
    }
    commit(held, record, std::move(gradient), tasks);
    if (complete && norms) begin_measuring(held, tasks);
  }
  answer.clock = after;
  row()->waits = true;  // until it reads
}

// Lets others have their turn as long as it has to wait; then it is this one's again.
Task<Admission> Server::admitted(HostedShard& held, const Ask& ask, double change) {
  const auto row = [&] { return held.state->table().find(ask.worker, ask.life); };
  const auto admission = [&] {
    ClockTable others;
    if (limits_change(options_.ps.consistency)) others = table_of(held);
    return admits(options_.ps.consistency, others, *row(), held.state->version(), ask.based_on,
                  change);
  };
  if (admission() != Admission::Later) co_return admission();
  node_.env.probe("ps: a push had to wait");
  row()->waits = true;
  held.busy = false;
  held.changed.notify_all();
  const auto lost = [&] { return !node_.membership.now().has(ask.worker, ask.life); };
  const auto must_wait = [&] {
    if (at_work(held)) return true;
    return is_head(held) && row() != nullptr && !lost() && admission() == Admission::Later;
  };
  while (must_wait()) co_await held.changed.wait();
  held.busy = true;
  // What a lost worker had in all shards may have been counted already, without this one.
  if (!is_head(held) || row() == nullptr || lost()) co_return Admission::Later;
  row()->waits = false;
  co_return Admission::Now;
}

Task<Gradient> Server::copy_of(const Gradient& gradient) {
  const Elements n(gradient.bytes.size.value() / sizeof(float));
  auto own = std::make_shared<Arena>(node_.endpoint, n, substance_);
  co_await copy(node_.env, own->all(), reinterpret_cast<const float*>(gradient.bytes.data));
  Gradient copied{own->bytes(), own};
  co_return copied;
}

// g + lambda g g (w now - w then), of the mean gradient; g where w then is not known any more.
Task<Gradient> Server::compensated(HostedShard& held, const Ask& ask, Gradient gradient) {
  constexpr float kKeep = 0.95F, kEpsilon = 1e-7F;  // of the mean square, as in the paper
  const bool adaptive = std::holds_alternative<compensation::Adaptive>(options_.ps.compensation);
  const auto then = held.read.find(ask.worker);
  const Elements n(gradient.bytes.size.value() / sizeof(float));
  auto own = std::make_shared<Arena>(node_.endpoint, n, substance_);
  const std::span<float> to = own->all().data();
  if (adaptive) held.mean_square.resize(to.size(), 0);
  const auto* const g = reinterpret_cast<const float*>(gradient.bytes.data);
  const std::span<const float> now = held.state->parameters()->w.all().data();
  const std::span<const float> before =
      then == held.read.end() ? now : std::span<const float>(then->second->w.all().data());
  const auto lambda = static_cast<float>(lambda_of(options_.ps.compensation));
  const float scale = plan_.mean ? 1 / static_cast<float>(ask.samples) : 1;
  co_await in_slices(node_.env, Work::Reduce, n.value(), g == nullptr, Order::Forward, 1,
                     [&](std::size_t from, std::size_t end) {
                       for (std::size_t i = from; i < end; ++i) {
                         const float mean = g[i] * scale;
                         float factor = lambda;
                         if (adaptive) {
                           float& ms = held.mean_square[i];
                           ms = kKeep * ms + (1 - kKeep) * mean * mean;
                           factor = lambda / std::sqrt(ms + kEpsilon);
                         }
                         to[i] = g[i] + factor * g[i] * mean * (now[i] - before[i]);
                       }
                     });
  Gradient made{own->bytes(), own};
  co_return made;
}

// Of plain SGD, to which the value bound is confined: eta max |g| / B.
Task<double> Server::change_by(const Ask& ask, const std::optional<Gradient>& gradient) {
  double most = 0;
  if (!limits_change(options_.ps.consistency) || ask.samples == 0) co_return most;
  const auto* const g = reinterpret_cast<const float*>(gradient->bytes.data);
  const std::size_t n = cuts_[ask.shard].n.value();
  co_await in_slices(node_.env, Work::Reduce, n, g == nullptr, Order::Forward, 1,
                     [&](std::size_t from, std::size_t to) {
                       for (std::size_t i = from; i < to; ++i)
                         most = std::max(most, std::abs(static_cast<double>(g[i])));
                     });
  const double eta = plan_.eta(held_[ask.shard].state ? held_[ask.shard].state->version() : 0);
  const double change = eta * most / (plan_.mean ? static_cast<double>(ask.samples) : 1);
  co_return change;
}

// ---- Samples

// Whether all of the view have come in everywhere: each asks for its first share then.
bool Server::all_are_in() const {
  const View& view = node_.membership.now();
  return std::ranges::all_of(view.members, [&](const Member& m) {
    return !leads(view, options_.ps.groups, m.node) || asking_.contains({m.node, m.incarnation});
  });
}

// By another life of the worker, which is to be looked into first.
bool Server::left_open(const HostedShard& held, NodeId worker, Incarnation life) const {
  const auto& open = held.state->scheduler()->shares().all();
  const auto it = open.find(worker);
  return it != open.end() && it->second.life != life;
}

std::uint64_t Server::workers() const {
  const View& view = node_.membership.now();
  return static_cast<std::uint64_t>(std::ranges::count_if(
      view.members, [&](const Member& m) { return leads(view, options_.ps.groups, m.node); }));
}

// One worker alone makes the first updates.
bool Server::warming_up(const HostedShard& held) const {
  return held.state != nullptr && held.state->version() < options_.ps.warm_start;
}
bool Server::goes_first(NodeId worker) const {
  const View& view = node_.membership.now();
  return std::ranges::none_of(
      view.members, [&](const Member& m) { return m.role == Role::Worker && m.node < worker; });
}

void Server::stop_if_asked(HostedShard& held, const Ask& ask, TaskGroup& tasks) {
  if (ask.stops == 0 || held.state->scheduler()->stopped()) return;
  Record record;
  record.kind = Record::Kind::Stop;
  record.end = ask.stops;
  commit(held, record, tasks);
}

// False: this is not the head any more.
Task<bool> Server::share(HostedShard& held, const Ask& ask, Answer& answer, TaskGroup& tasks) {
  const Asking asks(*this, {ask.worker, ask.life}, ask.share);
  held.changed.notify_all();
  const auto scheduler = [&] { return held.state->scheduler(); };
  const bool together =
      staleness_bound(options_.ps.consistency) || goes_by_steps(options_.ps.consistency);
  const auto must_wait = [&] {
    if (held.busy) return true;
    if (!is_head(held) || !node_.membership.now().has(ask.worker, ask.life)) return false;
    if (left_open(held, ask.worker, ask.life)) return true;
    return together && scheduler()->at_start() && ask.stops == 0 && !warming_up(held) &&
           !all_are_in();
  };
  while (must_wait()) co_await held.changed.wait();
  const Turn mine(held);
  if (!is_head(held)) co_return false;
  require_present(node_, {ask.worker, ask.life});  // It may have been buried.
  stop_if_asked(held, ask, tasks);
  deal(held, ask, tasks);
  answer.share = scheduler()->shares().dealt(ask.worker, ask.life, ask.share).value_or(Share());
  answer.ended = scheduler()->ended();
  answer.epoch = scheduler()->past();
  if (answer.share.n == 0 && scheduler()->over()) {
    answer.kind = Answer::Kind::Over;
    answer.epoch = scheduler()->epoch();
  }
  co_return true;
}

// In step a round is dealt at once to all who will ask for it, the same to each whoever is first.
// REQUIRES: it is this one's turn.
void Server::deal(HostedShard& held, const Ask& ask, TaskGroup& tasks) {
  const SampleScheduler& scheduler = *held.state->scheduler();
  std::vector<Holder> all{{ask.worker, ask.life}};
  if (moves_in_step(options_.ps.consistency) &&
      !scheduler.shares().dealt(ask.worker, ask.life, ask.share)) {
    all.clear();
    for (const ClockRow& row : table_of(held).rows) {
      const Holder one{row.worker, row.life};
      const auto asks = asking_.find(one);
      const bool now = asks != asking_.end() && asks->second == ask.share &&
                       !left_open(held, one.node, one.life);
      const bool soon =
          asks == asking_.end() && scheduler.shares().next(one.node, one.life) == ask.share;
      if (now || soon) all.push_back(one);
    }
  }
  // A group has the shares of its members, one after the other.
  std::vector<std::uint64_t> members;
  for (const Holder& one : all)
    members.push_back(members_of(node_.membership.now(), options_.ps.groups, one.node));
  const std::uint64_t workers = std::accumulate(members.begin(), members.end(), std::uint64_t{0});
  const std::uint64_t round = std::min(scheduler.left(), ask.wants_share * workers);
  const auto below = [&](std::uint64_t worker) {
    return worker * (round / workers) + std::min(worker, round % workers);
  };
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool own = all[i].node == ask.worker;
    Record record;
    record.kind = Record::Kind::Deal;
    record.worker = all[i].node;
    record.life = all[i].life;
    record.share = ask.share;
    record.settled = own ? ask.settled : 0;
    record.clock = own ? ask.clock : 0;
    record.n = below(before + members[i]) - below(before);
    before += members[i];
    if (own || record.n > 0) commit(held, record, tasks);
  }
}

}  // namespace shoal
