#include "ps/server.h"

#include <algorithm>

#include "base/error.h"

namespace shoal {

Server::Server(Node& node, ShardDirectories& directories, std::vector<ShardCut> cuts,
               Substance substance, const UpdatePlan& plan, const SampleScheduler& scheduler,
               ShardLoader& origin, ServerOptions options)
    : node_(node),
      directories_(directories),
      cuts_(std::move(cuts)),
      substance_(substance),
      plan_(plan),
      scheduler_(scheduler),
      origin_(origin),
      options_(options),
      client_(node, directories, Role::Server),
      held_(cuts_.size()) {
  for (std::uint32_t k = 0; k < held_.size(); ++k) held_[k].number = k;
  if (options_.ps.pulls != Encoding()) pulls_ = make_codec(options_.ps.pulls);
}

std::vector<Holding> Server::holdings() const {
  std::vector<Holding> all;
  for (const HostedShard& held : held_)
    if (held.ours) all.push_back({self(), held.number, held.chain});
  return all;
}

Task<void> Server::run() {
  co_await with_group([this](TaskGroup& tasks) -> Task<> {
    tasks.spawn(follow_directories(tasks));
    tasks.spawn(watch_views());
    tasks.spawn(take_requests(tasks));
    co_return;
  });
}

// ---- Requests

Task<void> Server::take_requests(TaskGroup& tasks) {
  while (true) {
    const Match match{.from = kAnyone, .tag = tag_of(MessageKind::Ask, 0)};
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
    std::optional<Announced> announced;
    if (options_.ps.barrier && ask.samples > 0)
      announced.emplace(held_[ask.shard], from, ask.number);
    if (ask.brings()) {
      require_present(node_, {from, ask.asker});
      const Match match{.from = from, .tag = tag_of(MessageKind::Gradient, ask.number)};
      auto there = std::make_shared<Reading>(co_await node_.endpoint.read(match));
      const Elements n = ask.brings_rest != 0 ? options_.rest : cuts_[ask.shard].n;
      const bool plain = ask.form == Ask::Form::Plain;
      if (plain) require_size(*there, Bytes(n.value() * sizeof(float)));
      gradient = Gradient{there->data(), there};
      if (!plain) gradient = co_await formed(from, ask, *gradient);
    } else if (ask.samples > 0) {
      const Gradient none;
      gradient = co_await formed(from, ask, none);
    }
    if (ask.samples > 0 && !gradient) {
      Answer again;
      again.kind = Answer::Kind::KeysUnknown;
      co_return co_await reply(from, ask, again);
    }
    co_await answer(from, ask, std::move(gradient), tasks);
  } catch (const PeerLost& lost) {
    if (lost.peer() != from) throw;
  }
}

Task<void> Server::answer(NodeId from, Ask ask, std::optional<Gradient> gradient,
                          TaskGroup& tasks) {
  HostedShard& held = held_[ask.shard];
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
    case Ask::Kind::Enter: co_return co_await answer_enter(from, ask, tasks);
    case Ask::Kind::Leave: co_return co_await answer_leave(from, ask, tasks);
    case Ask::Kind::Train: co_return co_await answer_train(from, ask, std::move(gradient), tasks);
    case Ask::Kind::Follow: co_return co_await answer_follow(from, ask);
    case Ask::Kind::EndOfEpochTask:
      co_return co_await answer_task(from, ask, std::move(gradient), tasks);
    case Ask::Kind::LostPushQuery: co_return co_await answer_lost_push_query(from, ask);
    case Ask::Kind::Snapshot: co_return co_await answer_snapshot(from, ask);
    case Ask::Kind::Sums: co_return co_await answer_sums(from, ask);
  }
}

// Whoever is told of a change can rely on it.
Task<void> Server::until_at_all(HostedShard& held) {
  const std::uint64_t made = is_head(held) ? held.state->sequence() : 0;
  while (is_head(held) && held.at_all < made) co_await held.changed.wait();
}

// ---- Coming and going

Task<void> Server::answer_enter(NodeId from, Ask ask, TaskGroup& tasks) {
  HostedShard& held = held_[ask.shard];
  Answer answer;
  if (ask.shard == 0) {
    bool in = false;
    while (!in && is_head(held)) in = co_await enter_for_samples(held, ask, answer, tasks);
  } else {
    const Turn mine = co_await turn(held);
    require_present(node_, {ask.worker, ask.life});  // It may have been buried.
    if (is_head(held)) {
      enter(held, ask, tasks);
      answer.version = held.state->version();
    }
  }
  co_await until_at_all(held);
  Payload payload;
  if (is_head(held)) {
    if (ask.shard == 0) payload.rest = held.state->rest();
  } else {
    answer.kind = Answer::Kind::NotHere;
  }
  co_await reply(from, ask, answer, std::move(payload));
}

// True: there are samples for it, and it is in; or the end of an epoch is to be attended to.
Task<bool> Server::enter_for_samples(HostedShard& held, const Ask& ask, Answer& answer,
                                     TaskGroup& tasks) {
  const auto scheduler = [&] { return held.state->scheduler(); };
  const auto there_is_something = [&] {
    const SampleScheduler& d = *scheduler();
    // Whoever is in already goes on: others may wait for it.
    const ClockRow* const row = held.state->table().find(ask.worker, ask.life);
    const bool is_in = row != nullptr && !row->away;
    const bool others_turn = warming_up(held) && !is_in && !goes_first(ask.worker);
    const bool tells = ask.stops != 0 && !d.stopped();
    const bool samples = d.left() > 0 || left_behind(held) != nullptr;
    return (samples && !others_turn) || d.over() || d.past() > ask.epoch || tells;
  };
  const auto must_wait = [&] {
    if (at_work(held)) return true;
    if (!is_head(held) || !node_.membership.now().has(ask.worker, ask.life)) return false;
    return left_open(held, ask.worker, ask.life) || !there_is_something();
  };
  while (must_wait()) co_await held.changed.wait();
  const Turn mine(held);
  if (!is_head(held)) co_return false;
  require_present(node_, {ask.worker, ask.life});  // It may have been buried.
  stop_if_asked(held, ask, tasks);
  const SampleScheduler& d = *scheduler();
  answer.ended = d.ended();
  if (d.over() || d.past() > ask.epoch) {
    answer.kind = Answer::Kind::Over;
    answer.epoch = d.past() > ask.epoch ? ask.epoch : d.epoch();
    co_return true;
  }
  if (d.left() == 0 && left_behind(held) == nullptr) co_return false;
  const auto row = [&] { return held.state->table().find(ask.worker, ask.life); };
  if (row() == nullptr || row()->away) enter(held, ask, tasks);
  answer.clock = row()->clock;
  answer.epoch = d.past();
  co_return true;
}

// A newcomer stands where the slowest does. REQUIRES: it is this one's turn.
void Server::enter(HostedShard& held, const Ask& ask, TaskGroup& tasks) {
  const ClockRow* const row = held.state->table().find(ask.worker, ask.life);
  const std::uint64_t least = least_of(held, held.state->version());
  Record record;
  record.kind = Record::Kind::Enter;
  record.worker = ask.worker;
  record.life = ask.life;
  record.clock = ask.clock;
  // The first shard says what its clock is.
  if (ask.kind == Ask::Kind::Enter && ask.shard == 0) {
    record.clock = row == nullptr ? least : std::max(least, row->clock);
    // It has seen nothing of the round at hand.
    const std::optional<Round>& round = held.state->scheduler()->dealt_round().round();
    if (in_rounds()) record.clock = round ? round->number : held.state->version();
  }
  commit(held, record, tasks);
}

// Those who have pushed may have waited for this one alone.
Task<void> Server::answer_leave(NodeId from, Ask ask, TaskGroup& tasks) {
  HostedShard& held = held_[ask.shard];
  Answer answer;
  {
    const Turn mine = co_await turn(held);
    require_present(node_, {ask.worker, ask.life});  // It may have been buried.
    if (is_head(held)) {
      Record record;
      record.kind = Record::Kind::Leave;
      record.worker = ask.worker;
      record.life = ask.life;
      record.settled = ask.settled;
      commit(held, record, tasks);
      complete_if_due(held, tasks);
    }
  }
  co_await until_at_all(held);
  if (!is_head(held)) answer.kind = Answer::Kind::NotHere;
  co_await reply(from, ask, answer);
}

// ---- At an epoch's end, and after a loss

// Whoever has nothing to do waits for those who have.
Task<void> Server::answer_task(NodeId from, Ask ask, std::optional<Gradient> rest,
                               TaskGroup& tasks) {
  HostedShard& held = held_[ask.shard];
  const auto done = static_cast<EndOfEpochTask>(ask.done);
  Answer answer;
  {
    const Turn mine = co_await turn(held);
    Record record;
    record.kind = done == EndOfEpochTask::Save          ? Record::Kind::Saved
                  : done == EndOfEpochTask::SendBuffers ? Record::Kind::Rest
                                                        : Record::Kind::Score;
    record.version = ask.epoch;
    record.n = ask.block;
    record.score = ask.score;
    if (is_head(held) && done != EndOfEpochTask::None) commit(held, record, std::move(rest), tasks);
  }
  std::erase_if(tasks_, [&](const auto& e) { return e.second.node == from; });
  Payload payload;
  while (is_head(held)) {
    const SampleScheduler& scheduler = *held.state->scheduler();
    std::erase_if(tasks_, [&](const auto& e) {
      return !node_.membership.now().has(e.second.node, e.second.life);
    });
    const EndOfEpochTask task = scheduler.task(ask.epoch);
    const bool work = task != EndOfEpochTask::Continue && task != EndOfEpochTask::Finish;
    const bool evaluates = task == EndOfEpochTask::Evaluate;
    const auto blocks =
        static_cast<std::uint32_t>(evaluates ? scheduler.epoch_end().scores().size() : 1);
    std::uint32_t block = 0;
    const auto taken = [&] {
      return tasks_.contains(block) ||
             (evaluates && scheduler.epoch_end().scores()[block].has_value());
    };
    while (work && block < blocks && taken()) ++block;
    if (!work || block < blocks) {
      if (work) tasks_[block] = {from, ask.life};
      answer.task = static_cast<std::uint32_t>(task);
      answer.block = block;
      answer.epoch = scheduler.past();
      answer.score = scheduler.epoch_end().total();
      answer.version = held.state->version();
      if (task != EndOfEpochTask::SendBuffers) payload.rest = held.state->rest();
      const EpochSummary news{scheduler.place(), held.state->staleness()};
      if (!evaluates)
        payload.news = std::make_shared<const std::vector<std::uint64_t>>(to_words(news));
      co_await until_at_all(held);
      break;
    }
    co_await held.changed.wait();
  }
  if (!is_head(held)) {
    answer.kind = Answer::Kind::NotHere;
    payload = Payload();
  }
  co_await reply(from, ask, answer, std::move(payload));
}

// Nothing of it can come any more when the view is without it.
Task<void> Server::answer_lost_push_query(NodeId from, Ask ask) {
  HostedShard& held = held_[ask.shard];
  while (node_.membership.now().has(ask.worker, ask.life)) co_await held.changed.wait();
  // A push of it may be under way; of those that wait none will be taken any more.
  const Turn mine = co_await turn(held);
  Answer answer;
  if (!is_head(held)) {
    answer.kind = Answer::Kind::NotHere;
  } else if (const ClockRow* const row = held.state->table().find(ask.worker, ask.life)) {
    answer.clock = row->clock;
  }
  co_await reply(from, ask, answer);
}

Task<void> Server::answer_snapshot(NodeId from, Ask ask) {
  HostedShard& held = held_[ask.shard];
  // The slots change in place: nobody may while they are read.
  const Turn mine = co_await turn(held);
  Answer answer;
  if (!is_head(held)) {
    answer.kind = Answer::Kind::NotHere;
    co_return co_await reply(from, ask, answer);
  }
  answer.version = held.state->version();
  Payload payload;
  payload.parameters = held.state->parameters();
  if (ask.wants_slots != 0) payload.slots = held.state->slots();
  co_await reply(from, ask, answer, std::move(payload));
}

ClockTable Server::table_of(const HostedShard& held) const {
  return present(held.state->table(), node_.membership.now());
}

Task<void> Server::reply(NodeId from, const Ask& ask, Answer answer) {
  return reply(from, ask, answer, Payload());
}

Task<void> Server::reply(NodeId from, const Ask& ask, Answer answer, Payload payload) {
  require_present(node_, {from, ask.asker});
  answer.has_parameters = payload.parameters ? 1 : 0;
  // What is evaluated and saved is what the servers have.
  answer.encoded = pulls_ && ask.kind != Ask::Kind::Snapshot ? 1 : 0;
  answer.has_rest = payload.rest ? 1 : 0;
  answer.has_news = payload.news ? 1 : 0;
  Answer& out = answers_.take(answer);
  std::optional<PeerLost> lost;
  try {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      Endpoint& endpoint = node_.endpoint;
      tasks.spawn(
          as_task(endpoint.send(from, tag_of(MessageKind::Answer, ask.number), const_buf(out))));
      const auto publish = [&](MessageKind what, ConstBuf bytes) {
        tasks.spawn(as_task(endpoint.publish(from, tag_of(what, ask.number), bytes)));
      };
      const Tag parameters = tag_of(MessageKind::Parameters, ask.number);
      if (payload.parameters && answer.encoded != 0) {
        tasks.spawn(
            publish_encoded(from, parameters, answer, ask.shard, *payload.parameters, tasks));
      } else if (payload.parameters) {
        tasks.spawn(publish_as_made(from, parameters, *payload.parameters, tasks));
      }
      if (payload.slots.n > Elements(0)) publish(MessageKind::Slots, payload.slots.bytes());
      if (payload.rest)
        publish(MessageKind::Rest, const_buf(std::span<const float>(*payload.rest)));
      if (payload.news)
        publish(MessageKind::News, const_buf(std::span<const std::uint64_t>(*payload.news)));
      co_return;
    });
  } catch (const PeerLost& error) {
    lost = error;
  }
  answers_.give_back(out);
  if (lost) throw PeerLost(*lost);
}

// While an update goes on whoever reads gets what it has made so far.
Task<void> Server::publish_as_made(NodeId to, Tag tag, Version& version, TaskGroup& tasks) {
  for (std::uint64_t i = 0; i < pieces_of(version.w.size()); ++i) {
    const Range piece = piece_of(version.w.all(), i);
    while (version.made < piece.at + piece.n) co_await version.more.wait();
    tasks.spawn(as_task(node_.endpoint.publish(to, tag, piece.bytes())));
  }
}

}  // namespace shoal
