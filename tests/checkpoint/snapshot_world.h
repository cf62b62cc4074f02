// Shared by the tests of snapshots: parts whose content identifies step and writer, and a disk.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/snapshot.h"
#include "sim/sim_files.h"
#include "support/files_text.h"
#include "support/inline_env.h"

namespace shoal {

inline constexpr NodeId kNode{0};
inline constexpr std::string_view kFolder = "run/checkpoint";

inline SnapshotOptions options_for(std::string writer) {
  SnapshotOptions options;
  options.folder = kFolder;
  options.writer = std::move(writer);
  return options;
}

// Owns the bytes of the parts that are being written.
struct State {
  State(Step step, const std::string& writer)
      : model(fmt::format("model of step {}", step)),
        optimizer(std::string(300, 'o')),
        by(writer) {}
  std::vector<SnapshotPart> parts() const {
    std::vector<SnapshotPart> parts;
    const std::string_view text = model;
    parts.push_back(
        {"model", {text_buf(text.substr(0, 6)), text_buf(""), text_buf(text.substr(6))}});
    parts.push_back({"optimizer", {text_buf(optimizer)}});
    parts.push_back({"by", {text_buf(by)}});
    return parts;
  }
  std::string model, optimizer, by;
};

inline Task<void> write_step(SnapshotStore& store, Step step, std::string writer) {
  const State state(step, writer);
  std::vector<SnapshotPart> parts = state.parts();
  co_await store.write(step, std::move(parts));
}

inline std::string text_of(const Snapshot& snapshot, std::string_view name) {
  const std::vector<std::byte>* part = snapshot.part(name);
  if (part == nullptr) return "(missing)";
  return {reinterpret_cast<const char*>(part->data()), part->size()};
}

inline void expect_whole(const Snapshot& snapshot) {
  EXPECT_EQ(snapshot.parts.size(), 3U);
  EXPECT_EQ(text_of(snapshot, "model"), fmt::format("model of step {}", snapshot.step));
  EXPECT_EQ(text_of(snapshot, "optimizer"), std::string(300, 'o'));
}

}  // namespace shoal
