// Invented runs, as their folders would describe them.
#pragma once

#include <string>

#include "report/run.h"

namespace shoal {

// Its accuracy is 1 - 1/(1 + rate * epochs); an epoch takes `epoch_s` seconds and `bytes`.
struct MadeUp {
  std::string system = "pytorch";
  std::uint64_t seed = 1;
  double rate = 1;
  double epoch_s = 10;
  double bytes = 1e6;
  std::uint64_t epochs = 3;
};

inline Summary summary_of(const MadeUp& m) {
  Summary s;
  s.system = m.system;
  s.world = "sim";
  s.recipe = {{"exchange", "ring"}};
  s.model = "lenet";
  s.data = "fashion-mnist";
  s.seed = Seed(m.seed);
  s.workers = 2;
  s.samples = 1000;
  s.epochs = m.epochs;
  s.batch = 50;
  s.steps = Step(10 * m.epochs);
  s.begin_s = 5;
  for (std::uint64_t e = 1; e <= m.epochs; ++e) {
    EvaluationRow row;
    const auto epoch = static_cast<double>(e);
    row.epoch = e;
    row.step = Step(10 * e);
    row.eval_s = 1;
    row.time_s = m.epoch_s * epoch;
    row.clock_s = s.begin_s + row.time_s + epoch;
    row.test_accuracy = 1 - 1 / (1 + m.rate * epoch);
    row.bytes_sent = m.bytes * epoch;
    s.evaluations.push_back(row);
  }
  s.test_accuracy = s.evaluations.back().test_accuracy;
  s.train_loss = 1;
  s.wall_s = m.epoch_s * static_cast<double>(m.epochs);
  s.samples_per_s = 1000 / m.epoch_s;
  s.compute_s = s.wall_s / 2;
  s.overlap_s = s.wall_s / 8;
  s.wait_s = s.wall_s / 4;
  s.bytes_sent_per_worker = m.bytes * static_cast<double>(m.epochs);
  return s;
}

inline std::string metrics_of(const MadeUp& m) {
  std::string text;
  const double step_s = m.epoch_s / 10;
  for (std::uint64_t step = 0; step < 10 * m.epochs; ++step)
    for (std::uint32_t node = 0; node < 2; ++node) {
      StepMetrics line;
      line.node = NodeId(node);
      line.step = Step(step);
      const double end =
          5 + step_s * static_cast<double>(step + 1) + static_cast<double>(step / 10);
      line.time = Time(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(end)));
      line.loss = 2 - 0.01 * static_cast<double>(step);
      line.samples = 50;
      line.compute_s = step_s / 2;
      line.wait_s = step_s / 4;
      line.bytes_sent = Bytes(static_cast<std::uint64_t>(m.bytes / 10) * (step + 1));
      text += to_json_line(line);
    }
  return text;
}

inline FinishedRun made_up(const MadeUp& m, const std::string& folder = "runs/made-up") {
  const std::string summary = to_json(summary_of(m));
  const std::string metrics = metrics_of(m);
  const std::string config = "like = \"" + m.system + "\"\nseed = " + std::to_string(m.seed) + "\n";
  RunTexts texts;
  texts.summary = summary;
  texts.metrics = metrics;
  texts.config = config;
  return parse_run(folder, texts);
}

}  // namespace shoal
