#include "train/run_journal.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace shoal {
namespace {

// How long between `begin` and `end` at least one bucket was in flight.
Duration under_way(std::vector<ExchangeSpan> spans, Time begin, Time end) {
  std::ranges::sort(spans, {}, &ExchangeSpan::begin);
  Duration sum{};
  for (const ExchangeSpan& span : spans) {
    const Time from = std::max(begin, span.begin);
    const Time to = std::min(end, span.end);
    if (to <= from) continue;
    sum += to - from;
    begin = to;
  }
  return sum;
}

// Long steps of a waiting worker and short ones of the worker that was waited for may alternate.
constexpr std::uint64_t kStepsEach = 4;

// The first steps do not count: memory is touched for the first time and buckets are tuned. If
// there are few steps, a quarter of them.
std::size_t first_steps(std::size_t steps) { return std::min<std::size_t>(10, steps / 4); }

}  // namespace

double usual_step(std::span<const float> seconds, std::uint64_t period) {
  const std::span<const float> counted = seconds.subspan(first_steps(seconds.size()));
  if (counted.empty()) return kUnknown;
  const std::uint64_t whole = std::max<std::uint64_t>(1, period);
  const std::size_t each =
      std::min<std::size_t>(counted.size(), (kStepsEach + whole - 1) / whole * whole);
  std::vector<double> means;
  for (std::size_t at = 0; at + each <= counted.size(); at += each) {
    double sum = 0;
    for (const float s : counted.subspan(at, each)) sum += static_cast<double>(s);
    means.push_back(sum / static_cast<double>(each));
  }
  const auto middle = means.begin() + static_cast<std::ptrdiff_t>(means.size() / 2);
  std::ranges::nth_element(means, middle);
  return *middle;
}

NodeId spokesman(const View& view) {
  const auto lives = [](const Member& m) {
    return std::tuple(m.role != Role::Worker, m.incarnation, m.node);
  };
  const auto it = std::ranges::min_element(view.members, {}, lives);
  return it == view.members.end() || it->role != Role::Worker ? kNobody : it->node;
}

RunJournal::RunJournal(Node& node, RunFolder& folder, RunJournalOptions options)
    : node_(node), folder_(folder), options_(std::move(options)), progress_(options_.screen) {
  totals_.begin = totals_.end = epoch_begin_ = step_begin_ = node_.env.now();
  if (node_.incarnation > Incarnation(1)) totals_.missed = totals_.begin - Time();
}

void RunJournal::view_begun(const View& view) {
  view_ = view.generation;
  const bool ends_now = std::exchange(ending_, view.ending) != view.ending;
  // Incarnations are counted from 1, so each tells how often its node was lost before.
  for (const Member& m : view.members)
    if (m.incarnation > Incarnation(1)) lives_[m.node] = m.incarnation;
  std::uint64_t replaced = 0;
  for (const auto& [node, life] : lives_) replaced += life.value() - 1;
  lost_ = replaced + options_.nodes - std::min<std::uint64_t>(options_.nodes, view.size());
  totals_.lost_nodes = ends_now ? lost_ : std::max(totals_.lost_nodes, replaced);
  const bool speaks = spokesman(view) == node_.id;
  if (totals_.speaks && !speaks) show(progress_.end());
  totals_.late = speaks && (totals_.late || !totals_.speaks);
  totals_.speaks = speaks;
  folder_.write_events(speaks);
}

void RunJournal::show(const std::string& text) const {
  if (totals_.speaks && !options_.quiet && !text.empty()) options_.print(text);
}

Ending RunJournal::leave() {
  const bool asked = options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  const Ending how = asked ? Ending::Stopped : ending_;
  totals_.left = how == Ending::Stopped;
  return how;
}

Duration RunJournal::trained(Time now) const {
  return now - totals_.begin - totals_.evaluation + totals_.missed;
}

// One worker asks for all: they stop after the same step, in the view that follows.
void RunJournal::end_if_spent(Time now) {
  if (options_.budget <= Duration::zero() || !totals_.speaks || asked_ == view_) return;
  if (ending_ != Ending::No || trained(now) < options_.budget) return;
  asked_ = view_;
  node_.membership.end_job(
      Ending::Complete, fmt::format("its budget of {:.4g} s is spent", seconds(options_.budget)));
}

void RunJournal::add_spans(const StepReport& report, Time now) {
  const bool early = report.computed != Time();
  const Time updated = now - report.update;
  const Time reduced = early ? report.computed : updated - report.wait;
  const Time begin = early ? report.begun : reduced - report.compute;
  trace_.add(TraceSpan{node_.id, Track::Compute, "gradient", report.step, begin, reduced});
  if (report.wait > Duration::zero())
    trace_.add(TraceSpan{node_.id, Track::Communication, "wait", report.step, reduced, updated});
  trace_.add(TraceSpan{node_.id, Track::Compute, "update", report.step, updated, now});
  for (const ExchangeSpan& span : report.exchanges)
    trace_.add(TraceSpan{node_.id, Track::Communication, fmt::format("bucket {}", span.bucket),
                         report.step, span.begin, span.end});
}

void RunJournal::time_step(Time now) {
  if (step_s_.empty()) sent_before_ = node_.endpoint.sent();
  step_s_.push_back(static_cast<float>(seconds(now - step_begin_)));
  step_begin_ = now;
}

Task<void> RunJournal::step_done(StepReport report) {
  const Time now = node_.env.now();
  time_step(now);
  totals_.samples += report.samples;
  const bool early = report.computed != Time();
  const Time computed = early ? report.computed : now - report.update - report.wait;
  // A gradient that was begun early continues while the buckets of the step before are in flight.
  std::vector<ExchangeSpan> spans = report.exchanges;
  spans.insert(spans.end(), last_spans_.begin(), last_spans_.end());
  const Duration overlap = std::min(
      report.compute,
      under_way(std::move(spans), early ? report.begun : computed - report.compute, computed));
  last_spans_ = report.exchanges;
  totals_.compute += report.compute;
  totals_.overlap += overlap;
  totals_.wait += report.wait;
  totals_.update += report.update;
  ++totals_.steps;
  totals_.lost_nodes = lost_;
  totals_.late = false;
  totals_.end = now;
  epoch_score_ += report.own;
  epoch_samples_ += report.samples;
  add_spans(report, now);

  StepMetrics m;
  m.node = node_.id;
  m.step = report.step;
  m.view = view_;
  m.epoch = report.epoch;
  m.time = now;
  m.loss = mean_loss(report.own);
  m.accuracy = accuracy(report.own);
  m.eta = report.eta;
  m.samples = report.own.samples;
  m.compute_s = seconds(report.compute);
  m.overlap_s = seconds(overlap);
  m.wait_s = seconds(report.wait);
  m.update_s = seconds(report.update);
  m.bytes_sent = node_.endpoint.sent();
  m.staleness = report.staleness;
  co_await folder_.add(m);

  ProgressNow p;
  p.time = now;
  p.epoch = report.epoch + 1;
  p.epochs = options_.epochs;
  p.step = report.step + Step(1);
  p.steps = options_.steps;
  if (options_.budget > Duration::zero()) p.left_s = seconds(options_.budget - trained(now));
  p.loss = mean_loss(epoch_score_);
  p.accuracy = accuracy(epoch_score_);
  p.samples = totals_.samples;
  p.compute_s = seconds(totals_.compute);
  p.wait_s = seconds(totals_.wait);
  p.bytes_sent = m.bytes_sent;
  show(progress_.step(p));
  end_if_spent(now);
}

EvaluationRow RunJournal::evaluation_row(const EpochRow& row, const EvaluationReport& report,
                                         Time now) const {
  EvaluationRow e;
  e.epoch = report.epoch;
  e.step = report.step;
  e.clock_s = seconds(now);
  e.time_s = seconds(now - totals_.begin - totals_.evaluation);
  e.eval_s = seconds(report.took);
  e.train_loss = row.train_loss;
  e.train_accuracy = row.train_accuracy;
  e.test_loss = row.test_loss;
  e.test_accuracy = row.test_accuracy;
  e.bytes_sent = static_cast<double>(node_.endpoint.sent().value());
  if (report.consensus) e.consensus = *report.consensus;
  return e;
}

Task<void> RunJournal::evaluated(EvaluationReport report) {
  const Time now = node_.env.now();
  totals_.evaluation += report.took;
  totals_.end = now;
  totals_.test = report.total;
  totals_.members = report.members;
  totals_.train = epoch_score_;
  const double took = seconds(now - epoch_begin_ - report.took);
  EpochRow row;
  row.epoch = report.epoch;
  row.train_loss = mean_loss(epoch_score_);
  row.train_accuracy = accuracy(epoch_score_);
  row.test_loss = mean_loss(report.total);
  row.test_accuracy = accuracy(report.total);
  row.samples_per_s = static_cast<double>(epoch_samples_) / took;
  row.seconds = took;
  const bool again = !totals_.rows.empty() && totals_.rows.back().epoch == row.epoch;
  if (again) totals_.rows.pop_back();
  if (again) totals_.evaluations.pop_back();
  if (again && report.consensus) totals_.consensus.pop_back();
  if (report.consensus) totals_.consensus.push_back(*report.consensus);
  totals_.rows.push_back(row);
  totals_.evaluations.push_back(evaluation_row(row, report, now));
  show(progress_.epoch_end(row, options_.epochs));
  std::vector<Scalar> scalars{
      Scalar{"train/epoch_loss", static_cast<float>(row.train_loss)},
      Scalar{"train/epoch_accuracy", static_cast<float>(row.train_accuracy)},
      Scalar{"test/loss", static_cast<float>(row.test_loss)},
      Scalar{"test/accuracy", static_cast<float>(row.test_accuracy)}};
  if (report.consensus)
    scalars.push_back({"test/consensus_error", static_cast<float>(*report.consensus)});
  co_await folder_.add(now, report.step, scalars);
  epoch_score_ = Score();
  epoch_samples_ = 0;
  epoch_begin_ = step_begin_ = node_.env.now();
}

void RunJournal::saved(Step step) { (void)step; }

void RunJournal::chosen(const std::string& what) { show(fmt::format("exchange  {}\n", what)); }

Task<void> RunJournal::close() {
  if (totals_.rows.empty()) totals_.train = epoch_score_;  // without a test set
  totals_.step_s = usual_step(step_s_, options_.period);
  if (step_s_.size() > 1)
    totals_.bytes_per_step = static_cast<double>((node_.endpoint.sent() - sent_before_).value()) /
                             static_cast<double>(step_s_.size() - 1);
  show(progress_.end());
  co_await folder_.flush();
}

}  // namespace shoal
