// Snapshots: the state of a job at a step, on disk, complete or absent.
//
//   SnapshotStore store(env, files, {.folder = "checkpoint", .writer = "node0.1"});
//   co_await store.write(step, std::move(parts));      // done = it survives any crash
//   Restored restored = co_await store.read_latest();  // the newest good one, with warnings
//
// A snapshot is a folder step-N with a file per part and a manifest (manifest.h). It is written in
// this order, and each arrow is a sync:
//
//   tmp-W-step-N/manifest, parts  ->  their names  ->  rename to step-N  ->  rename to latest
//
// So a folder called step-N is complete. `latest` names the newest one for people and other
// programs. Shoal itself takes the newest folder with right digests: no crash can reset it, nor can
// a slower writer that moves `latest` to an older one.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "runtime/buffer.h"
#include "runtime/env.h"
#include "runtime/files.h"
#include "runtime/task.h"

namespace shoal {

// A part to write. Its bytes must not change until the write is done.
struct SnapshotPart {
  std::string name;              // a plain file name
  std::vector<ConstBuf> pieces;  // adjacent parts of its content, so that a model needs no second
                                 // copy
};

struct Snapshot {
  struct Part {
    std::string name;
    std::vector<std::byte> content;
  };
  Step step;
  std::vector<Part> parts;  // in the order in which they were written
  // Null if there is no part of that name.
  const std::vector<std::byte>* part(std::string_view name) const;
};

struct Restored {
  std::optional<Snapshot> snapshot;   // empty: there is no good snapshot
  std::vector<std::string> warnings;  // problems, with the file
};

struct SnapshotOptions {
  std::string folder;  // in the job's folder
  // Differs between concurrent writers, for example node and incarnation. No '-' or '/'.
  std::string writer;
  std::size_t keep = 2;  // number of snapshots to keep, with the new one; at least 2
};

// Thread safety: none; at most one call at a time. Several stores may write to one folder at once:
// the first to publish a step wins, and every completed write is kept or superseded by a newer one.
// Invariant: once write(step) is done, read_latest() of any store finds that step or a newer one
// after any crash, as long as synced data stays undamaged on the disk.
class SnapshotStore {
 public:
  // Throws ConfigError for invalid options. env and files outlive the store.
  SnapshotStore(Env& env, Files& files, SnapshotOptions options);

  // Throws DataError (full disk, no permission); earlier snapshots stay. An existing good snapshot
  // of the step is left unchanged.
  Task<void> write(Step step, std::vector<SnapshotPart> parts);

  // Verifies every digest; if one is wrong, warns and tries the next older snapshot. The next write
  // removes the bad ones. Reads may run beside writes of other stores.
  Task<Restored> read_latest();

 private:
  std::string in_folder(std::string_view name) const;
  std::string temporary(std::string_view what, Step step) const;
  bool is_own(std::string_view temporary) const;

  Task<bool> is_safe(Step step);
  Task<void> clear_leftovers();
  Task<void> stage(Step step, std::vector<SnapshotPart> parts);
  Task<void> write_part(std::string path, std::span<const ConstBuf> pieces);
  Task<void> publish(Step step);
  Task<void> point_latest(Step step);
  Task<bool> is_pointed(Step step);
  Task<void> tidy(Step step);
  Task<bool> clean_up(Step step);
  Task<void> remove_own();
  Task<void> discard(std::string name, Step step);
  Task<void> sync_folder();

  Task<std::optional<Snapshot>> newest_good(Step at_least, std::vector<std::string>& warnings);
  Task<Snapshot> load(Step step);
  Task<std::optional<Step>> read_pointer(std::vector<std::string>& warnings);
  Task<bool> exists(std::string name);
  Task<std::string> digest(std::span<const ConstBuf> pieces);

  Env& env_;
  Files& files_;
  SnapshotOptions options_;
  bool folder_is_durable_ = false;  // the names that lead to our folder
  std::set<Step> broken_;           // found by a read; the next write removes them
};

}  // namespace shoal
