#include "ps/served_worker.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "optim/update.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

// Of a worker that has not seen any epoch yet.
constexpr std::uint64_t kNew = std::numeric_limits<std::uint64_t>::max();

}  // namespace

ServedWorker::ServedWorker(Node& node, Learner& learner, CheckpointStore& checkpoints,
                           Replica& replica, const ServedOptions& options,
                           ShardDirectories& directories, const std::vector<ShardCut>& cuts,
                           const Eta& eta, Journal* journal)
    : node_(node),
      learner_(learner),
      checkpoints_(checkpoints),
      replica_(replica),
      options_(options),
      client_(node, directories, Role::Worker, options.ps.pulls),
      group_(node, replica, options,
             [this](ServedGroup::Pass pass, Range into, Score& score) {
               return compute_pass(pass, into, score);
             }),
      cuts_(cuts),
      eta_(eta),
      journal_(journal),
      had_(cuts.size()),
      sent_(cuts.size()),
      packed_(cuts.size()),
      shard_sums_(node, replica.N, learner.substance()),
      epoch_(kNew) {
  if (in_parts(options.ps))
    parts_.emplace(node, options.ps, cuts, learner.substance(), options.mean);
  if (encodes(options.encode))
    encoded_.emplace(node, learner.pieces(), encodings_of(options.encode, learner), cuts,
                     learner.substance());
}

Task<void> ServedWorker::run() {
  while (!end_) {
    if (group_.leads()) {
      co_await train();
    } else {
      co_await help();
    }
    if (!over_) continue;
    group_.epoch_over(epoch_);
    co_await end_epoch();
  }
  group_.epoch_over(epoch_);  // Others may have ended the last ones without it.
}

// ---- In an epoch

// Until its group's leader says that the epoch is over, or it leads itself.
Task<void> ServedWorker::help() {
  const std::uint64_t epoch = epoch_ == kNew ? 0 : epoch_;
  const std::optional<std::uint64_t> over = co_await group_.help(epoch, journal_);
  if (!over) co_return;
  over_ = true;
  epoch_ = *over;
}

// From when there are samples for it to when there are none, or another one leads its group.
Task<void> ServedWorker::train() {
  co_await come_in();
  if (over_) co_return;
  group_.open();
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    const bool eager = std::holds_alternative<fetch::Eager>(options_.ps.fetch);
    for (std::uint32_t k = 0; eager && k < cuts_.size(); ++k) tasks.spawn(follow(k));
    if (in_rounds()) tasks.spawn(follow_lost());
    while (share_.n > 0 && group_.leads()) {
      co_await compute();
      co_await advance();
    }
    co_await push_what_waits();
    // All samples of the epoch are out: nobody shall wait for this worker meanwhile.
    if (in_rounds()) left_ = true;
    const Visit leaves = [this](std::uint32_t k) { return leave(k); };
    co_await at_all_shards(leaves);
    left_ = true;
    for (Sent& sent : sent_) sent.there = false;
    heard_.notify_all();
  });
  group_.close();
}

// With the clock that the first shard gives as soon as there are samples it comes in at the others;
// then it is everywhere, and asks for a share.
Task<void> ServedWorker::come_in() {
  EnterRequest request;
  request.epoch = epoch_;
  request.stops = leaves();
  Client::Room here;
  here.buffers = replica_.buffers();
  const EnterAnswer answer = co_await client_.call(request, here);
  over_ = answer.over != 0;
  share_ = Share();
  epoch_ = answer.epoch;
  if (over_) co_return;
  clock_ = settled_ = answer.clock;
  ended_ = answer.ended;
  held_ = samples_ = steps_ = 0;
  newest_ = clock_;
  left_ = false;
  const Visit enters = [this](std::uint32_t k) { return enter(k); };
  co_await at_all_shards(enters);
  stops_ = leaves();
  co_await next_share();
  take_next();
  if (share_.n == 0) co_return;
  const Visit reads = [this](std::uint32_t k) { return read(k); };
  co_await at_all_shards(reads);
  if (in_rounds()) replica_.exchange_copies();
}

Task<void> ServedWorker::enter(std::uint32_t shard) {
  if (shard == 0) co_return;
  RegisterRequest request;
  request.header.shard = shard;
  request.clock = clock_;
  const RegisterAnswer answer = co_await client_.call(request);
  newest_ = std::max(newest_, answer.version);
}

Task<void> ServedWorker::leave(std::uint32_t shard) {
  LeaveRequest request;
  request.header.shard = shard;
  request.settled = settled_;
  co_await client_.call(request);
}

// The one after the step at hand.
WantedShare ServedWorker::wanted_share() const {
  WantedShare wanted;
  wanted.n = options_.batch * options_.ps.write_back;
  wanted.number = clock_ + held_;
  if (in_rounds()) {
    wanted.n = options_.round_batch;
    wanted.number = std::max(clock_, newest_);
  }
  wanted.settled = settled_;
  wanted.stops = stops_;
  return wanted;
}

Task<void> ServedWorker::next_share() {
  if (in_rounds()) {
    PieceRequest request;
    request.clock = clock_;
    request.wanted = wanted_share();
    const PieceAnswer answer = co_await client_.call(request);
    next_ = answer.given;
    next_piece_ = answer.piece;
  } else {
    TrainRequest request;
    request.clock = clock_;
    request.wanted = wanted_share();
    const TrainAnswer answer = co_await client_.call(request);
    next_ = answer.given;
  }
  report_.samples = next_.ended - std::min(ended_, next_.ended);
  ended_ = next_.ended;
}

void ServedWorker::take_next() {
  over_ = next_.over != 0;
  share_ = next_.share;
  epoch_ = next_.epoch;
  if (!in_rounds() || share_.n == 0) return;
  // The servers say which step it takes part in: others may be further.
  next_round_ = next_piece_;
  clock_ = settled_ = next_round_.round.number;
}

Task<void> ServedWorker::compute() {
  co_await adopt_what_came();
  note_what_is_used();
  report_ = StepReport();
  report_.step = Step(had_[0].version);
  report_.epoch = share_.epoch;
  report_.eta = eta_(had_[0].version);
  // A step that is added to those before lies beside them at first.
  last_ = held_ == 0 ? replica_.g().all() : replica_.scratch().all();
  const std::uint64_t least = std::ranges::min(had_, {}, &Had::least).least;
  const ServedGroup::Pass pass{share_, Step(clock_ + held_)};
  const ServedGroup::Round round{pass, had_[0].version, least, report_.eta, ended_};
  if (in_rounds()) {
    co_await compute_shards();
  } else {
    co_await group_.gradient(round, last_, report_);
  }
  if (held_ > 0) co_await add_up();
  ++held_;
  ++steps_;
  samples_ += share_.n;
}

Task<void> ServedWorker::compute_pass(ServedGroup::Pass pass, Range into, Score& score) {
  Channel<Ready> ready;
  Portion portion{pass.share.epoch, pass.step, node_.id.value(),
                  replica_.ledger.samples(pass.share)};
  const GradientTarget target{into};
  co_await learner_.gradient(node_.env, replica_.w(), target, std::move(portion), ready, score);
  if (options_.ps.push == PushForm::Factors) co_await take_layers(ready);
}

Task<void> ServedWorker::add_up() {
  const std::span<float> sum = replica_.g().all().data();
  const std::span<const float> g = last_.data();
  co_await in_slices(node_.env, Work::Reduce, replica_.N.value(), sum.empty(), Order::Forward, 1,
                     [&](std::size_t from, std::size_t to) {
                       for (std::size_t i = from; i < to; ++i) sum[i] += g[i];
                     });
}

// Pushes what is due, and before it reads: what it gets has all of its own steps.
Task<void> ServedWorker::advance() {
  const Time begin = node_.env.now();
  const std::uint64_t samples = share_.n;
  const bool reads = !reads_when_stale(options_.ps.fetch) && steps_ >= steps_of(options_.ps.fetch);
  const bool pushes = reads || held_ >= options_.ps.push_every;
  stops_ = leaves();
  if (in_rounds()) {
    co_await push_shards();
    co_await next_share();
    take_next();
    report_.wait += node_.env.now() - begin;
    report_.read = Step(had_[0].version);
    if (journal_ != nullptr) co_await journal_->step_done(report_);
    co_return;
  }
  if (!pushes) co_await next_share();
  if (pushes || next_.share.n == 0 || !group_.leads()) co_await push_all(pushes, reads);
  take_next();
  const Visit moves = [&](std::uint32_t k) { return move_alone(k, samples); };
  if (share_.n > 0) co_await at_all_shards(moves);
  report_.wait += node_.env.now() - begin;
  report_.read = Step(had_[0].version);
  if (journal_ != nullptr) co_await journal_->step_done(report_);
}

Task<void> ServedWorker::push_all(bool asks, bool reads) {
  const std::uint64_t after = clock_ + held_;
  // Where pushes may have to wait a worker that reads at one server while it waits at another would
  // hold up those who wait for it to see what they changed.
  const bool in_one = !limits_change(options_.ps.consistency);
  const Visit pushes = [&](std::uint32_t k) {
    return push(k, asks, in_one && (reads || too_old(k, after)));
  };
  const Visit rest = [this](std::uint32_t k) { return read(k); };
  if (parts_) co_await choose_part(false);
  if (encoded_) co_await encode();
  co_await at_all_shards(pushes);
  clock_ = after;
  // What is in the parameters of all shards in part only is not settled.
  if (!holds_back()) settled_ = after;
  held_ = samples_ = 0;
  if (!in_one && reads && next_.share.n > 0) co_await at_all_shards(rest);
  if (reads) steps_ = 0;
}

// For a worker that has made `clock` steps.
bool ServedWorker::too_old(std::uint32_t shard, std::uint64_t clock) const {
  return reads_when_stale(options_.ps.fetch) &&
         had_[shard].least + staleness_bound(options_.ps.consistency).value_or(0) < clock;
}

Task<void> ServedWorker::push(std::uint32_t shard, bool asks, bool reads) {
  TrainRequest request;
  if (asks && shard == 0) request.wanted = wanted_share();
  request.header.shard = shard;
  request.clock = clock_;
  request.push.steps = held_;
  request.push.samples = samples_;
  request.push.based_on = had_[shard].version;
  request.reads = reads ? 1 : 0;
  had_[shard].fresh = false;
  Range brought = of(replica_.g().all(), shard);
  if (!layers_.empty()) {
    brought = co_await packed(shard);
    request.push.form.kind = GradientForm::Kind::Factored;
  }
  if (parts_) brought = part(shard, request.push);
  if (encoded_ && !as_it_is_) {
    brought = encoded_->packed(shard);
    request.push.form.kind = GradientForm::Kind::Encoded;
  }
  TrainAnswer answer = co_await client_.call(request, brought, room(shard));
  if (parts_) answer = co_await with_keys(shard, request, answer);
  if (answer.header.parameters != 0) took(shard, answer.read);
  if (parts_ && answer.header.parameters != 0) co_await add_what_waits(shard);
  if (shard != 0) co_return;
  report_.staleness = static_cast<double>(answer.staleness);
  if (!asks) co_return;
  next_ = answer.given;
  report_.samples = next_.ended - std::min(ended_, next_.ended);
  ended_ = next_.ended;
}

Task<void> ServedWorker::read(std::uint32_t shard) {
  TrainRequest request;
  request.header.shard = shard;
  request.clock = clock_;
  request.reads = 1;
  const TrainAnswer answer = co_await client_.call(request, room(shard));
  if (answer.header.parameters != 0) took(shard, answer.read);
  if (parts_) co_await add_what_waits(shard);
}

void ServedWorker::took(std::uint32_t shard, const ReadState& read) {
  had_[shard] = {read.version, read.least, true};
}

// Until it reads again it has its own steps.
Task<void> ServedWorker::move_alone(std::uint32_t shard, std::uint64_t samples) {
  if (std::exchange(had_[shard].fresh, false) || cuts_[shard].n == Elements(0)) co_return;
  const Rule plain;
  const UpdateStep step{eta_(had_[shard].version), 1,
                        options_.mean ? static_cast<double>(samples) : 1};
  const UpdateTarget here{.w = of(replica_.parameters(), shard),
                          .g = of(last_, shard),
                          .slots = Range(),
                          .at = cuts_[shard].at};
  const Sums none;
  co_await apply(node_.env, plain, step, here, none);
}

Task<void> ServedWorker::at_all_shards(Visit visit) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t k = 0; k < cuts_.size(); ++k) tasks.spawn(visit(k));
    co_return;
  });
}

// That the bound holds also of what was read long ago.
void ServedWorker::note_what_is_used() {
  if (!reads_when_stale(options_.ps.fetch)) return;
  Event event;
  event.kind = EventKind::ReadServed;
  event.peer = node_.id;
  event.group = kServing;
  event.a = clock_;
  event.b = std::ranges::min(had_, {}, &Had::least).least;
  event.c = staleness_bound(options_.ps.consistency).value_or(0);
  node_.env.record(event);
}

// ---- What servers send by themselves

Task<void> ServedWorker::follow(std::uint32_t shard) {
  Sent& sent = sent_[shard];
  while (true) {
    FollowRequest request;
    request.header.shard = shard;
    request.clock = had_[shard].least;
    Client::Room here;
    here.w = of(replica_.next_w().slice(Elements(0), replica_.N), shard);
    sent.answer = co_await client_.call(request, here);
    if (sent.answer.header.parameters == 0 || left_) co_return;
    sent.there = true;
    while (sent.there) co_await heard_.wait();
  }
}

// Without this worker's last steps it is no use.
Task<void> ServedWorker::adopt_what_came() {
  for (std::uint32_t k = 0; k < cuts_.size(); ++k) {
    if (!sent_[k].there) continue;
    const FollowAnswer& answer = sent_[k].answer;
    if (answer.clock >= clock_ && answer.read.least > had_[k].least) {
      node_.env.probe("ps: what a server sent by itself was used");
      const Range from = of(replica_.next_w().slice(Elements(0), replica_.N), k);
      const Range to = of(replica_.parameters(), k);
      co_await in_slices(node_.env, Work::Copy, to.n.value(), to.data().empty(), Order::Forward, 1,
                         [&](std::size_t begin, std::size_t end) {
                           std::copy(from.data().begin() + begin, from.data().begin() + end,
                                     to.data().begin() + begin);
                         });
      had_[k] = {answer.read.version, answer.read.least, false};
      if (parts_) co_await add_what_waits(k);
    }
    sent_[k].there = false;
  }
  heard_.notify_all();
}

}  // namespace shoal
