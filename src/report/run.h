// A finished run, parsed from the files of its folder, for reports. The caller reads the files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "train/config_file.h"
#include "train/summary.h"

namespace shoal {

// The files of a run folder (train/run_folder.h). Empty: the file does not exist.
struct RunTexts {
  std::string_view config, summary, metrics, trace;
};

// A step of a node.
struct StepLine {
  NodeId node;
  std::uint64_t step = 0;
  double clock_s = 0;  // at its end
  double loss = kUnknown;
  std::uint64_t samples = 0;
  double compute_s = 0, overlap_s = 0, wait_s = 0, update_s = 0;
  double bytes_sent = 0;

  double begin_s() const { return clock_s - update_s - wait_s - compute_s; }
};

// A transfer between nodes, from trace.json.
struct TraceBar {
  NodeId node;
  std::string name;
  double begin_s = 0, end_s = 0;
};

struct FinishedRun {
  std::string folder;
  Summary summary;
  std::vector<ConfigEntry> config;
  std::vector<StepLine> steps;  // of all nodes, by clock
  std::vector<TraceBar> trace;  // communication only
  std::vector<std::string> warnings;

  // Training time, without evaluations, at this time of the clock.
  double trained_s(double clock_s) const;
};

// Ignores incomplete lines of metrics, with a warning. Throws DataError if there is no summary or a
// file is malformed.
FinishedRun parse_run(const std::string& folder, const RunTexts& texts);

}  // namespace shoal
