#include "ps/served_worker.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "runtime/slices.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

// The epoch of a worker that has not seen any yet.
constexpr std::uint64_t kNoEpochYet = std::numeric_limits<std::uint64_t>::max();

}  // namespace

ServedWorker::ServedWorker(ServedContext& context, CheckpointStore& checkpoints)
    : context_(context),
      group_(context, [this](ServedGroup::Pass pass, Range into,
                             Score& score) { return compute_pass(pass, into, score); }),
      forms_(context_),
      parameters_(context_, forms_),
      rounds_(context_, parameters_),
      epoch_end_(context_, parameters_, checkpoints),
      epoch_(kNoEpochYet) {
  context_.client.on_directory([this] { rounds_.note_directory(); });
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
    const ServedEpochEnd::Past past = co_await epoch_end_.attend(epoch_);
    end_ = past.last;
    epoch_ = past.epochs;
    over_ = false;
    share_ = Share();
  }
  group_.epoch_over(epoch_);  // Others may have ended the last ones without it.
}

// Until its group's leader says that the epoch is over, or it leads itself.
Task<void> ServedWorker::help() {
  const std::uint64_t epoch = epoch_ == kNoEpochYet ? 0 : epoch_;
  const std::optional<std::uint64_t> over = co_await group_.help(epoch, context_.journal);
  if (!over) co_return;
  over_ = true;
  epoch_ = *over;
}

// From when there are samples for it to when there are none, or another worker leads its group.
Task<void> ServedWorker::train() {
  co_await come_in();
  if (over_) co_return;
  group_.open();
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    const bool eager = std::holds_alternative<fetch::Eager>(context_.recipe.ps.fetch);
    for (std::uint32_t k = 0; eager && k < context_.cuts.size(); ++k)
      tasks.spawn(parameters_.follow(k));
    if (context_.in_rounds()) tasks.spawn(rounds_.follow_lost());
    while (share_.n > 0 && group_.leads()) {
      co_await compute();
      co_await advance();
    }
    co_await push_what_waits();
    // All samples of the epoch are dealt: no one shall wait for this worker meanwhile.
    if (context_.in_rounds()) context_.progress.left = true;
    const ServedContext::Visit leaves = [this](std::uint32_t k) { return leave(k); };
    co_await context_.at_all_shards(leaves);
    context_.progress.left = true;
    parameters_.stop_following();
  });
  group_.close();
}

// ---- Coming and going

Ending ServedWorker::stops_asked() {
  Journal* const journal = context_.journal;
  const Ending own = journal == nullptr ? Ending::No : journal->leave();
  return own != Ending::No ? own : group_.stops();
}

// The first shard gives it a clock as soon as there are samples. With that it registers at the
// others; then it is everywhere, and asks for a share.
Task<void> ServedWorker::come_in() {
  EnterRequest request;
  request.epoch = epoch_;
  request.stops = stops_asked();
  Client::Room here;
  here.buffers = context_.replica.buffers();
  const EnterAnswer answer = co_await context_.client.call(request, here);
  over_ = answer.over != 0;
  share_ = Share();
  epoch_ = answer.epoch;
  if (over_) co_return;
  context_.progress = ServedProgress();
  context_.progress.clock = context_.progress.settled = newest_ = answer.clock;
  ended_ = answer.ended;
  const ServedContext::Visit enters = [this](std::uint32_t k) { return enter(k); };
  co_await context_.at_all_shards(enters);
  stops_ = stops_asked();
  co_await next_share();
  take_next();
  if (share_.n == 0) co_return;
  const ServedContext::Visit reads = [this](std::uint32_t k) { return parameters_.read(k); };
  co_await context_.at_all_shards(reads);
  if (context_.in_rounds()) context_.replica.exchange_copies();
}

Task<void> ServedWorker::enter(std::uint32_t shard) {
  if (shard == 0) co_return;
  RegisterRequest request;
  request.header.shard = shard;
  request.clock = context_.progress.clock;
  const RegisterAnswer answer = co_await context_.client.call(request);
  newest_ = std::max(newest_, answer.version);
}

Task<void> ServedWorker::leave(std::uint32_t shard) {
  LeaveRequest request;
  request.header.shard = shard;
  request.settled = context_.progress.settled;
  co_await context_.client.call(request);
}

// ---- A step

// The share of the step after the one at hand.
WantedShare ServedWorker::wanted_share() const {
  const ServedProgress& progress = context_.progress;
  WantedShare wanted;
  wanted.n = context_.task.batch * context_.recipe.ps.write_back;
  wanted.number = progress.clock + progress.held;
  if (context_.in_rounds()) {
    wanted.n = context_.task.all_batches();
    wanted.number = std::max(progress.clock, newest_);
  }
  wanted.settled = progress.settled;
  wanted.stops = stops_;
  return wanted;
}

Task<void> ServedWorker::next_share() {
  if (context_.in_rounds()) {
    PieceRequest request;
    request.clock = context_.progress.clock;
    request.wanted = wanted_share();
    const PieceAnswer answer = co_await context_.client.call(request);
    next_piece_ = answer.piece;
    note_given(answer.given);
  } else {
    TrainRequest request;
    request.clock = context_.progress.clock;
    request.wanted = wanted_share();
    const TrainAnswer answer = co_await context_.client.call(request);
    note_given(answer.given);
  }
}

void ServedWorker::note_given(const GivenShare& given) {
  next_ = given;
  report_.samples = given.ended - std::min(ended_, given.ended);
  ended_ = given.ended;
}

void ServedWorker::take_next() {
  over_ = next_.over != 0;
  share_ = next_.share;
  epoch_ = next_.epoch;
  if (!context_.in_rounds() || share_.n == 0) return;
  // The servers say which step it takes part in: others may be further.
  rounds_.begin(next_piece_);
  context_.progress.clock = context_.progress.settled = next_piece_.round.number;
}

Task<void> ServedWorker::compute() {
  ServedProgress& progress = context_.progress;
  co_await parameters_.adopt_what_came();
  parameters_.record_use();
  const std::uint64_t version = parameters_.version(0);
  report_ = StepReport();
  report_.step = Step(version);
  report_.epoch = share_.epoch;
  report_.eta = context_.eta(version);
  // The gradient of a step that is added to those before is beside them at first.
  last_ = progress.held == 0 ? context_.replica.g().all() : context_.replica.scratch().all();
  const ServedGroup::Pass pass{share_, Step(progress.clock + progress.held)};
  const ServedGroup::Round round{pass, version, parameters_.least(), report_.eta, ended_};
  if (context_.in_rounds()) {
    const Time begin = context_.node.env.now();
    co_await rounds_.compute(report_.own);
    report_.compute += context_.node.env.now() - begin;
  } else {
    co_await group_.gradient(round, last_, report_);
  }
  if (progress.held > 0) co_await add_up();
  ++progress.held;
  ++progress.unread;
  progress.samples += share_.n;
}

Task<void> ServedWorker::compute_pass(ServedGroup::Pass pass, Range into, Score& score) {
  Channel<Ready> ready;
  Portion portion{pass.share.epoch, pass.step, context_.node.id.value(),
                  context_.replica.ledger.samples(pass.share)};
  const GradientTarget target{into};
  co_await context_.learner.gradient(context_.node.env, context_.replica.w(), target,
                                     std::move(portion), ready, score);
  if (context_.recipe.ps.push == PushForm::Factors) co_await forms_.take_layers(ready);
}

Task<void> ServedWorker::add_up() {
  const std::span<float> sum = context_.replica.g().all().data();
  const std::span<const float> g = last_.data();
  co_await in_slices(context_.node.env, Work::Reduce, context_.replica.N.value(), sum.empty(),
                     Order::Forward, 1, [&](std::size_t from, std::size_t to) {
                       for (std::size_t i = from; i < to; ++i) sum[i] += g[i];
                     });
}

// Pushes what is due, and before it reads: the parameters that it gets have all of its own steps.
Task<void> ServedWorker::advance() {
  const Time begin = context_.node.env.now();
  const ParameterServerOptions& ps = context_.recipe.ps;
  const std::uint64_t samples = share_.n;
  const bool reads = !reads_when_stale(ps.fetch) && context_.progress.unread >= steps_of(ps.fetch);
  const bool pushes = reads || context_.progress.held >= ps.push_every;
  stops_ = stops_asked();
  if (context_.in_rounds()) {
    report_.staleness = co_await rounds_.push();
    co_await next_share();
    take_next();
  } else {
    if (!pushes) co_await next_share();
    if (pushes || next_.share.n == 0 || !group_.leads()) co_await push_all(pushes, reads);
    take_next();
    const ServedContext::Visit moves = [&](std::uint32_t k) {
      return parameters_.move_alone(k, last_, samples);
    };
    if (share_.n > 0) co_await context_.at_all_shards(moves);
  }
  report_.wait += context_.node.env.now() - begin;
  report_.read = Step(parameters_.version(0));
  if (context_.journal != nullptr) co_await context_.journal->step_done(report_);
}

// ---- Pushes

Task<void> ServedWorker::push_all(bool asks, bool reads) {
  ServedProgress& progress = context_.progress;
  const std::uint64_t after = progress.clock + progress.held;
  // Where pushes may have to wait, a worker that reads at one server while it waits at another
  // would hold up those who wait for it to see what they changed.
  const bool in_one = !limits_change(context_.recipe.ps.consistency);
  const ServedContext::Visit pushes = [&](std::uint32_t k) {
    return push(k, asks, in_one && (reads || parameters_.too_old(k, after)));
  };
  const ServedContext::Visit rest = [this](std::uint32_t k) { return parameters_.read(k); };
  if (forms_.in_parts()) co_await forms_.choose_part(parameters_.version(0), false);
  if (forms_.encodes()) co_await forms_.encode(share_);
  co_await context_.at_all_shards(pushes);
  progress.clock = after;
  // Shares that are in the parameters of all shards in part only are not settled.
  if (!forms_.holds_back()) progress.settled = after;
  progress.held = progress.samples = 0;
  if (!in_one && reads && next_.share.n > 0) co_await context_.at_all_shards(rest);
  if (reads) progress.unread = 0;
}

Task<void> ServedWorker::push(std::uint32_t shard, bool asks, bool reads) {
  const ServedProgress& progress = context_.progress;
  TrainRequest request;
  if (asks && shard == 0) request.wanted = wanted_share();
  request.header.shard = shard;
  request.clock = progress.clock;
  request.push.steps = progress.held;
  request.push.samples = progress.samples;
  request.push.based_on = parameters_.version(shard);
  request.reads = reads ? 1 : 0;
  parameters_.outdate(shard);
  if (forms_.factored()) co_await forms_.pack_factors(shard);
  const Range brought = forms_.brought(shard, request.push.form);
  TrainAnswer answer = co_await context_.client.call(request, brought, context_.room(shard));
  if (forms_.in_parts()) answer = co_await forms_.with_keys(request, answer);
  const bool was_read = answer.header.parameters != 0;
  if (was_read) parameters_.took(shard, answer.read);
  if (was_read && forms_.in_parts()) co_await forms_.add_waiting(shard, parameters_.version(shard));
  if (shard != 0) co_return;
  report_.staleness = static_cast<double>(answer.staleness);
  if (asks) note_given(answer.given);
}

// There are no more samples for this worker: all that waits goes, in pushes of its own, each as
// large as the budget allows. They are of no share, and settle those before.
Task<void> ServedWorker::push_what_waits() {
  if (!forms_.in_parts() && !forms_.encodes()) co_return;
  ServedProgress& progress = context_.progress;
  const std::uint64_t shares = progress.clock;
  // In step a push is in the parameters when these can be read; its range is in use until then.
  const bool reads = goes_by_steps(context_.recipe.ps.consistency);
  while (forms_.holds_back()) {
    progress.held = 1;
    co_await forms_.release(parameters_.version(0));
    const ServedContext::Visit pushes = [&](std::uint32_t k) { return push(k, false, reads); };
    co_await context_.at_all_shards(pushes);
    progress.clock += std::exchange(progress.held, 0);
    progress.samples = 0;
  }
  progress.settled = shares;
}

}  // namespace shoal
