// What this machine has that Shoal cares about, found without starting another program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace shoal {

enum class Finding { kOk, kMissing, kNote };

struct MachineFact {
  Finding finding;
  std::string subject;  // "libtorch"
  std::string value;    // "1.13.0, threads: 2"
  std::string remedy;   // what to do about something missing; else empty
  std::string details;  // several lines for whoever asks; mostly empty
};

// `executable` is this program's file: its plugin is searched relative to it.
std::vector<MachineFact> examine_machine(const std::filesystem::path& executable);

}  // namespace shoal
