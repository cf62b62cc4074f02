#include "ps/server.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/stream_copy.h"
#include "runtime/slices.h"

namespace shoal {

Server::Server(Node& node, Directories& directories, std::vector<ShardCut> cuts,
               Substance substance, const UpdatePlan& plan, const Dealer& dealer, Origin& origin,
               ServerOptions options)
    : node_(node),
      directories_(directories),
      cuts_(std::move(cuts)),
      substance_(substance),
      plan_(plan),
      dealer_(dealer),
      origin_(origin),
      options_(options),
      client_(node, directories, Role::Server),
      held_(cuts_.size()) {
  for (std::uint32_t k = 0; k < held_.size(); ++k) held_[k].number = k;
}

std::vector<Holding> Server::holdings() const {
  std::vector<Holding> all;
  for (const Held& held : held_) all.push_back({held.chain, held.ours ? 1U : 0U});
  return all;
}

Task<void> Server::run() {
  co_await with_group([this](TaskGroup& tasks) -> Task<> {
    tasks.spawn(follow_directories(tasks));
    tasks.spawn(watch_views());
    tasks.spawn(take_requests(tasks));
    for (Held& held : held_) {
      tasks.spawn(take_records(held, tasks));
      tasks.spawn(take_news(held));
    }
    co_return;
  });
}

// ---- Requests

Task<void> Server::take_requests(TaskGroup& tasks) {
  while (true) {
    const Match match{.from = kAnyone, .tag = tag_of(Say::Ask, 0)};
    const Received received = co_await node_.endpoint.recv(match, mut_buf(incoming_));
    require_size(received, Bytes(sizeof incoming_));
    const Ask ask = incoming_;
    if (ask.shard >= held_.size())
      throw Corrupt(
          fmt::format("node {} asks for shard {} of {}", received.from, ask.shard, held_.size()));
    tasks.spawn(serve(received.from, ask, tasks));
  }
}

// Who is lost gets no answer.
Task<void> Server::serve(NodeId from, Ask ask, TaskGroup& tasks) {
  try {
    std::optional<Gradient> gradient;
    if (ask.samples > 0) {
      require_present(node_, {from, ask.asker});
      const Match match{.from = from, .tag = tag_of(Say::Gradient, ask.number)};
      auto there = std::make_shared<Reading>(co_await node_.endpoint.read(match));
      require_size(*there, Bytes(cuts_[ask.shard].n.value() * sizeof(float)));
      gradient = Gradient{there->data(), there};
    }
    co_await answer(from, ask, std::move(gradient), tasks);
  } catch (const PeerLost& lost) {
    if (lost.peer() != from) throw;
  }
}

Task<void> Server::answer(NodeId from, Ask ask, std::optional<Gradient> gradient,
                          TaskGroup& tasks) {
  Held& held = held_[ask.shard];
  // It may know of a view that has not come here yet.
  while (held.directory < ask.directory) co_await held.changed.wait();
  while (held.chain.n > 0 && held.chain.holders[0] == self() && !held.ready)
    co_await held.changed.wait();
  if (!is_head(held)) {
    Answer elsewhere;
    elsewhere.kind = Answer::Kind::NotHere;
    co_return co_await reply(from, ask, elsewhere);
  }
  switch (ask.kind) {
    case Ask::Kind::Train: co_return co_await answer_train(from, ask, std::move(gradient), tasks);
    case Ask::Kind::Errand: co_return co_await answer_errand(from, ask, tasks);
    case Ask::Kind::Inquest: co_return co_await answer_inquest(from, ask);
    case Ask::Kind::Snapshot: co_return co_await answer_snapshot(from, ask);
  }
}

Task<void> Server::answer_train(NodeId from, Ask ask, std::optional<Gradient> gradient,
                                TaskGroup& tasks) {
  Held& held = held_[ask.shard];
  Answer answer;
  co_await push(held, ask, std::move(gradient), answer, tasks);
  bool dealt = true;
  if (ask.wants_share > 0) dealt = co_await share(held, ask, answer, tasks);
  const std::uint64_t made = dealt && is_head(held) ? held.state->sequence() : 0;
  while (is_head(held) && held.at_all < made) co_await held.changed.wait();

  std::shared_ptr<Arena> parameters;
  if (is_head(held) && dealt && answer.kind == Answer::Kind::Fine && ask.wants_read != 0) {
    const auto row = [&] { return held.state->table().find(from, ask.life); };
    const auto waits = [&] {
      return !may_read(options_.consistency, table_of(held), answer.clock, held.state->version(),
                       held.state->waiting_pushes());
    };
    if (row() != nullptr) row()->waits = true;
    while (is_head(held) && waits()) co_await held.changed.wait();
    if (is_head(held)) {
      record_read(held, from, answer.clock);
      parameters = held.state->parameters();
      answer.version = held.state->version();
      answer.has_parameters = 1;
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
    answer.has_parameters = 0;
    parameters.reset();
  }
  const Range no_slots;
  co_await reply(from, ask, answer, std::move(parameters), no_slots);
}

void Server::record_read(const Held& held, NodeId reader, std::uint64_t clock) {
  const ClockTable table = table_of(held);
  if (options_.consistency.kind != Consistency::Kind::Bounded || table.rows.empty()) return;
  Event event;
  event.kind = EventKind::ReadServed;
  event.peer = reader;
  event.group = kServing;
  event.a = clock;
  event.b = min_clock(table);
  event.c = options_.consistency.bound;
  // In step a clock may lag behind the version, after a server was lost with its shard.
  if (moves_in_step(options_.consistency)) event.b = std::max(event.b, held.state->version());
  node_.env.record(event);
}

// Whoever has nothing to do waits for those who have.
Task<void> Server::answer_errand(NodeId from, Ask ask, TaskGroup& tasks) {
  Held& held = held_[ask.shard];
  const auto done = static_cast<Dealer::Errand>(ask.done);
  Answer answer;
  {
    const Turn mine = co_await turn(held);
    Record record;
    record.kind = done == Dealer::Errand::Save ? Record::Kind::Saved : Record::Kind::Score;
    record.version = ask.epoch;
    record.n = ask.block;
    record.score = ask.score;
    if (is_head(held) && done != Dealer::Errand::None) co_await commit(held, record, tasks);
  }
  std::erase_if(errands_, [&](const auto& e) { return e.second.node == from; });
  while (is_head(held)) {
    const Dealer& dealer = *held.state->dealer();
    std::erase_if(errands_, [&](const auto& e) {
      return !node_.membership.now().has(e.second.node, e.second.life);
    });
    const Dealer::Errand errand = dealer.errand(ask.epoch);
    std::uint32_t block = 0;
    const std::uint32_t blocks =
        errand == Dealer::Errand::Evaluate ? static_cast<std::uint32_t>(dealer.scores().size()) : 1;
    const auto taken = [&] {
      return errands_.contains(block) ||
             (errand == Dealer::Errand::Evaluate && dealer.scores()[block].has_value());
    };
    const bool work = errand == Dealer::Errand::Evaluate || errand == Dealer::Errand::Save;
    while (work && block < blocks && taken()) ++block;
    if (errand != Dealer::Errand::None && (!work || block < blocks)) {
      if (work) errands_[block] = {from, ask.life};
      answer.errand = static_cast<std::uint32_t>(errand);
      answer.block = block;
      answer.epoch = dealer.epoch();
      answer.ended = dealer.tally().ended;
      answer.score = dealer.total();
      answer.version = held.state->version();
      const std::uint64_t made = held.state->sequence();
      while (is_head(held) && held.at_all < made) co_await held.changed.wait();
      break;
    }
    co_await held.changed.wait();
  }
  if (!is_head(held)) answer.kind = Answer::Kind::NotHere;
  co_await reply(from, ask, answer);
}

// Nothing of it can come any more when the view is without it.
Task<void> Server::answer_inquest(NodeId from, Ask ask) {
  Held& held = held_[ask.shard];
  while (node_.membership.now().has(ask.worker, ask.life)) co_await held.changed.wait();
  Answer answer;
  if (!is_head(held)) {
    answer.kind = Answer::Kind::NotHere;
  } else if (const ClockRow* const row = held.state->table().find(ask.worker, ask.life)) {
    answer.clock = row->clock;
  }
  co_await reply(from, ask, answer);
}

Task<void> Server::answer_snapshot(NodeId from, Ask ask) {
  Held& held = held_[ask.shard];
  // The slots change in place: nobody may while they are read.
  const Turn mine = co_await turn(held);
  Answer answer;
  if (!is_head(held)) {
    answer.kind = Answer::Kind::NotHere;
    co_return co_await reply(from, ask, answer);
  }
  answer.version = held.state->version();
  answer.has_parameters = 1;
  co_await reply(from, ask, answer, held.state->parameters(), held.state->slots());
}

ClockTable Server::table_of(const Held& held) const {
  return present(held.state->table(), node_.membership.now());
}

// A newcomer stands where the slowest does. REQUIRES: it is this one's turn.
Task<void> Server::enter(Held& held, const Ask& ask, TaskGroup& tasks) {
  const ClockTable table = table_of(held);
  const ClockRow* const row = held.state->table().find(ask.worker, ask.life);
  const std::uint64_t least = table.rows.empty() ? held.state->version() : min_clock(table);
  Record record;
  record.kind = Record::Kind::Enter;
  record.worker = ask.worker;
  record.life = ask.life;
  record.clock = ask.clock;
  if (ask.enters != 0) record.clock = row == nullptr ? least : std::max(least, row->clock);
  co_await commit(held, record, tasks);
}

// Those who have pushed may have waited for this one alone. REQUIRES: it is this one's turn.
Task<void> Server::leave(Held& held, const Ask& ask, TaskGroup& tasks) {
  Record record;
  record.kind = Record::Kind::Leave;
  record.worker = ask.worker;
  record.life = ask.life;
  co_await commit(held, record, tasks);
  co_await complete_if_due(held, tasks);
}

Task<void> Server::push(Held& held, const Ask& ask, std::optional<Gradient> gradient,
                        Answer& answer, TaskGroup& tasks) {
  const double change = co_await change_by(ask, gradient);
  const Turn mine = co_await turn(held);
  require_present(node_, {ask.worker, ask.life});  // It may have been buried.
  if (!is_head(held)) co_return;
  const auto row = [&] { return held.state->table().find(ask.worker, ask.life); };
  if (ask.leaves != 0) co_return co_await leave(held, ask, tasks);
  if (ask.enters != 0) co_return;  // when there is a share for it
  if (row() == nullptr || row()->away) co_await enter(held, ask, tasks);
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
  if (options_.weigh_by_staleness) record.weight = 1 / (1 + static_cast<double>(answer.staleness));
  if (admission == Admission::Never) {
    node_.env.probe("ps: a push was rejected");
    record.kind = Record::Kind::Reject;
    co_await commit(held, record, tasks);
  } else {
    record.kind = Record::Kind::Push;
    ClockTable table = table_of(held);
    if (ClockRow* const own = table.find(ask.worker, ask.life)) own->clock = after;
    const std::uint64_t pushes = state.waiting_pushes() + 1;
    // One that comes after its step was made without it waits for nobody.
    const bool late = moves_in_step(options_.consistency) && after <= state.version();
    const bool complete = late || completes(options_.consistency, table, pushes, state.version());
    record.complete = complete ? 1 : 0;
    record.version = version_after(options_.consistency, table, state.version());
    // Where nobody waits the worker goes on, and uses its range again.
    if (!complete && !moves_in_step(options_.consistency)) gradient = co_await copy_of(*gradient);
    co_await commit(held, record, std::move(gradient), tasks);
  }
  answer.clock = after;
  row()->waits = true;  // until it reads
}

// Lets others have their turn as long as it has to wait; then it is this one's again.
Task<Admission> Server::admitted(Held& held, const Ask& ask, double change) {
  const auto row = [&] { return held.state->table().find(ask.worker, ask.life); };
  const auto admission = [&] {
    return admits(options_.consistency, table_of(held), *row(), held.state->version(), ask.based_on,
                  change);
  };
  if (admission() != Admission::Later) co_return admission();
  node_.env.probe("ps: a push had to wait");
  row()->waits = true;
  held.busy = false;
  held.changed.notify_all();
  const auto must_wait = [&] {
    if (held.busy) return true;
    return is_head(held) && row() != nullptr && admission() == Admission::Later;
  };
  while (must_wait()) co_await held.changed.wait();
  held.busy = true;
  if (!is_head(held) || row() == nullptr) co_return Admission::Later;
  row()->waits = false;
  co_return Admission::Now;
}

Task<Gradient> Server::copy_of(const Gradient& gradient) {
  const Elements n(gradient.bytes.size.value() / sizeof(float));
  auto own = std::make_shared<Arena>(node_.endpoint, n, substance_);
  std::byte* const to = own->all().bytes().data;
  co_await in_slices(node_.env, Work::Copy, n.value(), to == nullptr, Order::Forward, 1,
                     [&](std::size_t from, std::size_t end) {
                       copy_slice(to + from * sizeof(float),
                                  gradient.bytes.data + from * sizeof(float),
                                  (end - from) * sizeof(float), gradient.bytes.size.value());
                     });
  Gradient copied{own->bytes(), own};
  co_return copied;
}

// Of plain SGD, to which the value bound is confined: eta max |g| / B.
Task<double> Server::change_by(const Ask& ask, const std::optional<Gradient>& gradient) {
  double most = 0;
  if (options_.consistency.kind != Consistency::Kind::Value || ask.samples == 0) co_return most;
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

// False: this is not the head any more.
Task<bool> Server::share(Held& held, const Ask& ask, Answer& answer, TaskGroup& tasks) {
  Dealer::Wish wish{ask.worker, ask.life, ask.share, ask.settled, ask.wants_share};
  const auto dealer = [&] { return held.state->dealer(); };
  // What another life of this worker has left open is looked into first.
  const auto of_another_life = [&] {
    const auto open = dealer()->open().find(ask.worker);
    return open != dealer()->open().end() && open->second.life != ask.life;
  };
  const auto must_wait = [&] {
    if (held.busy) return true;
    if (!is_head(held) || !node_.membership.now().has(ask.worker, ask.life)) return false;
    if (of_another_life()) return true;
    // Who has something to settle is not kept waiting before it has.
    return ask.may_wait != 0 && !dealer()->settles(wish) &&
           dealer()->ask(wish) == Dealer::Now::Nothing;
  };
  while (true) {
    while (must_wait()) co_await held.changed.wait();
    const Turn mine(held);
    if (!is_head(held)) co_return false;
    require_present(node_, {ask.worker, ask.life});  // It may have been buried.
    const Dealer::Now now = dealer()->ask(wish);
    if (ask.enters != 0 && now == Dealer::Now::Share) {
      const ClockRow* row = held.state->table().find(ask.worker, ask.life);
      if (row == nullptr || row->away) co_await enter(held, ask, tasks);
      row = held.state->table().find(ask.worker, ask.life);
      wish.number = answer.clock = row->clock;
    }
    Record record;
    record.kind = Record::Kind::Deal;
    record.worker = ask.worker;
    record.life = ask.life;
    record.share = wish.number;
    record.settled = ask.settled;
    record.n = ask.wants_share;
    co_await commit(held, record, tasks);
    answer.share = held.state->dealt();
    answer.epoch = dealer()->epoch();
    if (now == Dealer::Now::Over) answer.kind = Answer::Kind::Over;
    if (now != Dealer::Now::Nothing || ask.may_wait == 0) co_return true;
  }
}

Task<void> Server::reply(NodeId from, const Ask& ask, Answer answer) {
  return reply(from, ask, answer, nullptr, Range());
}

Task<void> Server::reply(NodeId from, const Ask& ask, Answer answer,
                         std::shared_ptr<Arena> parameters, Range slots) {
  require_present(node_, {from, ask.asker});
  Answer& out = answers_.take(answer);
  std::optional<PeerLost> lost;
  try {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      Endpoint& endpoint = node_.endpoint;
      tasks.spawn(as_task(endpoint.send(from, tag_of(Say::Answer, ask.number), const_buf(out))));
      const auto publish = [&](std::uint64_t which, ConstBuf bytes) {
        const Tag tag = tag_of(Say::Parameters, 2 * ask.number + which);
        tasks.spawn(as_task(endpoint.publish(from, tag, bytes)));
      };
      if (parameters) publish(0, parameters->bytes());
      if (slots.n > Elements(0)) publish(1, slots.bytes());
      co_return;
    });
  } catch (const PeerLost& error) {
    lost = error;
  }
  answers_.give_back(out);
  if (lost) throw PeerLost(*lost);
}

}  // namespace shoal
