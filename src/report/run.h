// A finished run as its folder tells it: what reports are made of. Text in, values out; the caller
// reads the files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "train/config_file.h"
#include "train/summary.h"

namespace shoal {

// The files of a run folder (train/run_folder.h). An empty text: there is no such file.
struct RunTexts {
  std::string_view config, summary, metrics, trace;
};

// A step of a node.
struct StepLine {
  NodeId node;
  std::uint64_t step = 0;
  double clock_s = 0;  // when it was done
  double loss = kUnknown;
  std::uint64_t samples = 0;
  double compute_s = 0, overlap_s = 0, wait_s = 0, update_s = 0;
  double bytes_sent = 0;

  double begin_s() const { return clock_s - update_s - wait_s - compute_s; }
};

// Something that was under way between nodes, as trace.json has it.
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
  std::vector<TraceBar> trace;  // communication alone
  std::vector<std::string> warnings;

  // Time of training at this time of the clock: without evaluations.
  double trained_s(double clock_s) const;
};

// A line of metrics that was cut off is left out, with a warning. Throws DataError where there is
// no summary, or nothing in a file is what it should be.
FinishedRun parse_run(const std::string& folder, const RunTexts& texts);

}  // namespace shoal
