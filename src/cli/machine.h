// The properties of this machine that matter to Shoal, found without starting another program.
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
  std::string remedy;   // how to get a missing part; else empty
  std::string details;  // several lines for --details; usually empty
};

// `executable`: this program's file; the plugin is searched relative to it.
std::vector<MachineFact> examine_machine(const std::filesystem::path& executable);

}  // namespace shoal
