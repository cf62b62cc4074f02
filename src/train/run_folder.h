// The files of a run, live or simulated:
//
//   config.toml              resolved options, enough to repeat the run      config_file.h
//   metrics.jsonl            a line per step and node, while it runs         metrics.h
//   events.out.tfevents.*    the same for TensorBoard                        tfevents.h
//   trace.json               a timeline                                      trace.h
//   summary.json             how it ended                                    summary.h
//   checkpoint/              snapshots                                       checkpoint/snapshot.h
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/files.h"
#include "runtime/task.h"
#include "train/config_file.h"
#include "train/metrics.h"
#include "train/summary.h"
#include "train/tfevents.h"
#include "train/trace.h"

namespace shoal {

// Atomic under any crash: writes a temporary file, syncs it, then renames it. If several processes
// write the file, each has a temporary file of its own.
Task<void> write_whole(Files& files, std::string path, std::string text, NodeId writer);

struct RunFolderOptions {
  std::string folder;        // within the job's folder; "": that folder itself
  bool events = true;        // for TensorBoard; one node of a run writes them
  std::string host = "sim";  // part of the event file's name
  double wall_start_s = 0;   // wall-clock time at Time(0), for TensorBoard
  NodeId writer{};
};

// Thread safety: none; at most one call at a time. `files` outlives this.
// All throw DataError (full disk, no permission).
class RunFolder {
 public:
  RunFolder(Files& files, RunFolderOptions options);

  Task<void> write_config(std::vector<ConfigEntry> entries);
  // Whether this node writes TensorBoard's events, if any node does.
  void write_events(bool own) { own_events_ = own; }
  Task<void> add(const StepMetrics& metrics);
  // Values that do not belong to a step, such as test/accuracy at the end of an epoch.
  Task<void> add(Time now, Step step, std::span<const Scalar> scalars);
  // Makes streamed data survive a crash; later calls may follow.
  Task<void> flush();
  Task<void> write_trace(const Trace& trace);
  Task<void> write_summary(const Summary& summary);
  Task<std::string> read_summary();  // empty: there is none

  std::string path(std::string_view name) const;

 private:
  Files& files_;
  RunFolderOptions options_;
  MetricsLog metrics_;
  std::optional<TensorBoardLog> events_;
  bool own_events_ = true;
};

}  // namespace shoal
