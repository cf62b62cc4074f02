#include "report/curves.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace shoal {
namespace {

constexpr std::size_t kPoints = 160;      // maximum, per curve
constexpr std::size_t kExcerptRows = 8;   // maximum number of workers
constexpr std::size_t kExcerptSteps = 4;  // of the first worker

// The mean of several runs' curves, point by point, up to the shortest.
std::vector<CurvePoint> mean_of(const std::vector<std::vector<CurvePoint>>& curves) {
  std::vector<CurvePoint> mean;
  if (curves.empty()) return mean;
  const std::size_t points = std::ranges::min(curves, {}, &std::vector<CurvePoint>::size).size();
  const double part = 1 / static_cast<double>(curves.size());
  for (std::size_t i = 0; i < points; ++i) {
    CurvePoint sum;
    sum.value = 0;
    sum.low = sum.high = curves[0][i].value;
    for (const std::vector<CurvePoint>& curve : curves) {
      sum.time_s += part * curve[i].time_s;
      sum.epochs += part * curve[i].epochs;
      sum.bytes += part * curve[i].bytes;
      sum.value += part * curve[i].value;
      sum.low = std::min(sum.low, curve[i].value);
      sum.high = std::max(sum.high, curve[i].value);
    }
    mean.push_back(sum);
  }
  return mean;
}

// The mean loss of a run's steps in stretches of equal length.
std::vector<CurvePoint> loss_curve(const FinishedRun& run, std::size_t stretches) {
  std::vector<CurvePoint> curve;
  const double epoch = static_cast<double>(run.summary.samples);
  const auto workers = static_cast<double>(std::max<std::uint64_t>(1, run.summary.workers));
  std::map<NodeId, double> sent;  // so far
  double samples = 0, total = 0;
  for (std::size_t i = 0; i < stretches; ++i) {
    CurvePoint point;
    double losses = 0, weights = 0;
    for (std::size_t k = i * run.steps.size() / stretches;
         k < (i + 1) * run.steps.size() / stretches; ++k) {
      const StepLine& step = run.steps[k];
      double& before = sent[step.node];
      // A restarted node counts from 0.
      total += step.bytes_sent - (step.bytes_sent >= before ? before : 0);
      before = step.bytes_sent;
      samples += static_cast<double>(step.samples);
      point.time_s = run.trained_s(step.clock_s);
      if (!(step.loss == step.loss)) continue;
      losses += static_cast<double>(step.samples) * step.loss;
      weights += static_cast<double>(step.samples);
    }
    point.epochs = epoch > 0 ? samples / epoch : 0;
    point.bytes = total / workers;
    if (weights > 0) point.value = losses / weights;
    if (weights > 0) curve.push_back(point);
  }
  return curve;
}

std::vector<CurvePoint> disagreement_curve(const FinishedRun& run) {
  std::vector<CurvePoint> curve;
  for (const EvaluationRow& row : run.summary.evaluations) {
    if (!(row.consensus == row.consensus)) continue;
    CurvePoint point;
    point.time_s = row.time_s;
    point.epochs = static_cast<double>(row.epoch);
    point.bytes = row.bytes_sent;
    point.value = row.consensus;
    curve.push_back(point);
  }
  return curve;
}

// The mean of all workers; the time of unrecorded steps is unknown.
TimeShares time_of(const FinishedRun& run) {
  const Summary& s = run.summary;
  TimeShares time;
  time.overlap = s.overlap_s;
  time.compute = std::max(0.0, s.compute_s - s.overlap_s);
  time.wait = s.wait_s;
  time.update = s.update_s;
  time.rest = std::max(0.0, s.wall_s - s.compute_s - s.wait_s - s.update_s);
  return time;
}

TimeShares mean_time(const Contestant& c) {
  TimeShares mean;
  const double part = 1 / static_cast<double>(c.runs.size());
  for (const FinishedRun* run : c.runs) {
    const TimeShares own = time_of(*run);
    mean.compute += part * own.compute;
    mean.overlap += part * own.overlap;
    mean.wait += part * own.wait;
    mean.update += part * own.update;
    mean.rest += part * own.rest;
  }
  return mean;
}

std::vector<double> staleness_of(const Contestant& c) {
  std::vector<double> bins(Staleness::kBins, 0);
  double pushes = 0;
  for (const FinishedRun* run : c.runs) {
    pushes += static_cast<double>(run->summary.staleness.pushes);
    for (std::size_t i = 0; i < bins.size(); ++i)
      bins[i] += static_cast<double>(run->summary.staleness.bins[i]);
  }
  if (pushes == 0) return {};
  for (double& bin : bins) bin /= pushes;
  while (!bins.empty() && bins.back() == 0) bins.pop_back();
  return bins;
}

// A few steps before the last one of the run's first worker, and the activity of all workers
// meanwhile.
Excerpt excerpt_of(const FinishedRun& run) {
  Excerpt excerpt;
  if (run.steps.empty()) return excerpt;
  const NodeId first = std::ranges::min(run.steps, {}, &StepLine::node).node;
  std::vector<const StepLine*> own;
  for (const StepLine& step : run.steps)
    if (step.node == first) own.push_back(&step);
  const std::size_t to = own.size() > 1 ? own.size() - 1 : own.size();
  const std::size_t from = to > kExcerptSteps ? to - kExcerptSteps : 0;
  const double begin = own[from]->begin_s();
  const double end = own[to - 1]->clock_s;

  std::map<NodeId, std::size_t> rows;
  const auto add = [&](std::size_t row, const char* kind, std::string name, double b, double e) {
    b = std::max(b, begin);
    e = std::min(e, end);
    if (e > b) excerpt.bars.push_back({row, kind, std::move(name), b - begin, e - begin});
  };
  for (const StepLine& step : run.steps) rows.emplace(step.node, 0);
  for (auto it = rows.begin(); it != rows.end();) {
    const bool kept = excerpt.rows.size() < kExcerptRows;
    if (kept) it->second = excerpt.rows.size();
    if (kept) excerpt.rows.push_back(fmt::format("worker {}", it->first));
    it = kept ? std::next(it) : rows.erase(it);
  }
  for (const StepLine& step : run.steps) {
    const auto row = rows.find(step.node);
    if (row == rows.end() || step.clock_s < begin || step.begin_s() > end) continue;
    const std::string name = fmt::format("step {}", step.step);
    const double computed = step.begin_s() + step.compute_s;
    add(row->second, "compute", name, step.begin_s(), computed);
    add(row->second, "wait", name, computed, computed + step.wait_s);
    add(row->second, "update", name, computed + step.wait_s, step.clock_s);
  }
  std::map<NodeId, std::size_t> links;
  for (const TraceBar& bar : run.trace) {
    if (bar.end_s <= begin || bar.begin_s >= end) continue;
    if (!links.contains(bar.node)) {
      links[bar.node] = excerpt.rows.size();
      excerpt.rows.push_back(fmt::format("under way at {}", bar.node));
    }
    add(links[bar.node], "send", bar.name, bar.begin_s, bar.end_s);
  }
  return excerpt;
}

}  // namespace

std::vector<CurvePoint> test_curve(const FinishedRun& run, bool by_accuracy) {
  std::vector<CurvePoint> curve;
  const Summary& s = run.summary;
  const auto add = [&](double time, double epochs, double bytes, double value) {
    CurvePoint point;
    point.time_s = time;
    point.epochs = epochs;
    point.bytes = bytes;
    point.value = value;
    if (value == value) curve.push_back(point);
  };
  const auto each = static_cast<double>(s.samples);
  const double trained = s.samples_per_s * s.wall_s;  // number of samples
  for (const EvaluationRow& row : s.evaluations) {
    // An incomplete last epoch counts as the fraction that was trained.
    const bool last = row.step == s.steps && each > 0 && trained == trained;
    const double epochs = last ? trained / each : static_cast<double>(row.epoch);
    add(row.time_s, epochs, row.bytes_sent, by_accuracy ? row.test_accuracy : row.test_loss);
  }
  if (s.evaluations.empty())
    add(s.wall_s, static_cast<double>(s.epochs), s.bytes_sent_per_worker,
        by_accuracy ? s.test_accuracy : s.test_loss);
  return curve;
}

std::optional<CurvePoint> first_reached(const std::vector<CurvePoint>& curve, double target,
                                        bool upwards) {
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const CurvePoint& here = curve[i];
    if (upwards ? here.value < target : here.value > target) continue;
    if (i == 0) return here;
    const CurvePoint& before = curve[i - 1];
    const double part = (target - before.value) / (here.value - before.value);
    CurvePoint at = here;
    at.time_s = before.time_s + part * (here.time_s - before.time_s);
    at.epochs = before.epochs + part * (here.epochs - before.epochs);
    at.bytes = before.bytes + part * (here.bytes - before.bytes);
    at.value = target;
    return at;
  }
  return std::nullopt;
}

void add_curves(Contestant& c, bool by_accuracy) {
  std::vector<std::vector<CurvePoint>> losses, scores, disagreements;
  std::size_t points = kPoints;
  for (const FinishedRun* run : c.runs) points = std::min(points, run->steps.size());
  for (const FinishedRun* run : c.runs) {
    losses.push_back(loss_curve(*run, points));
    scores.push_back(test_curve(*run, by_accuracy));
    disagreements.push_back(disagreement_curve(*run));
  }
  c.loss = mean_of(losses);
  c.score = mean_of(scores);
  c.disagreement = mean_of(disagreements);
  c.staleness_shares = staleness_of(c);
  c.time = mean_time(c);
  c.excerpt = excerpt_of(*c.runs.front());
}

}  // namespace shoal
