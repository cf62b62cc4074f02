// metrics.jsonl: the measurements of each step by each node, one line of JSON each.
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
  Generation view;  // in which the step was made
  std::uint64_t epoch = 0;
  Time time;               // at the end of the step
  double loss = kUnknown;  // mean over this node's samples
  double accuracy = kUnknown;
  double eta = kUnknown;
  std::uint64_t samples = 0;  // of this node in this step
  double compute_s = 0;
  double overlap_s = 0;  // part of compute_s, beside communication
  double wait_s = 0;     // for other nodes
  double update_s = 0;
  Bytes bytes_sent;             // since the last start of the node
  double staleness = kUnknown;  // updates between the parameters read and those updated
};

std::string to_json_line(const StepMetrics& metrics);
// A number in JSON; null for infinity and NaN.
std::string json_number(double value);
std::string json_string(std::string_view text);  // quoted; malformed UTF-8 becomes U+FFFD

class MetricsLog {
 public:
  MetricsLog(Files& files, std::string path)
      : file_(files, std::move(path), StreamedFile::Kind::Lines) {}

  // Several nodes may write to one file if appends to it are atomic, as on a local disk.
  Task<void> add(const StepMetrics& metrics) {
    const std::string line = to_json_line(metrics);
    co_await file_.add(line, metrics.time);
  }
  Task<void> close() { return file_.close(); }

 private:
  StreamedFile file_;
};

}  // namespace shoal
