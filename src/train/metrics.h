// metrics.jsonl: what each node measured of each step, a line of JSON each.
#pragma once

#include <limits>
#include <string>

#include "base/types.h"
#include "train/streamed_file.h"

namespace shoal {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();  // null in the file

struct StepMetrics {
  NodeId node;
  Step step;
  Generation view;  // in which it was made
  std::uint64_t epoch = 0;
  Time time;               // when the step was done
  double loss = kUnknown;  // mean over the samples of this node
  double accuracy = kUnknown;
  double eta = kUnknown;
  std::uint64_t samples = 0;  // of this node in this step
  double compute_s = 0;
  double overlap_s = 0;  // of compute_s, with gradients under way
  double wait_s = 0;     // for others
  double update_s = 0;
  Bytes bytes_sent;             // since the node was last started
  double staleness = kUnknown;  // steps between the parameters read and those updated
};

std::string to_json_line(const StepMetrics& metrics);
// A number as JSON has it: null for what JSON has no number for.
std::string json_number(double value);
std::string json_string(std::string_view text);  // in quotes; what is not UTF-8 becomes U+FFFD

class MetricsLog {
 public:
  MetricsLog(Files& files, std::string path)
      : file_(files, std::move(path), StreamedFile::Kind::Lines) {}

  // Several nodes may add to one file, as long as appends to it are atomic, as on a local disk.
  Task<void> add(const StepMetrics& metrics) {
    const std::string line = to_json_line(metrics);
    co_await file_.add(line, metrics.time);
  }
  Task<void> close() { return file_.close(); }

 private:
  StreamedFile file_;
};

}  // namespace shoal
