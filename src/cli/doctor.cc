// shoal doctor: lists what this machine has, what is missing, and how to get it.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "app/build_info.h"
#include "cli/commands.h"
#include "cli/machine.h"

namespace shoal {
namespace {

const char* word(Finding finding) {
  switch (finding) {
    case Finding::kOk: return "ok";
    case Finding::kMissing: return "missing";
    case Finding::kNote: return "";
  }
  return "";
}

struct DoctorOptions {
  bool details = false;
};

// A missing part is no failure: every part works without the others.
ExitCode run_doctor(const DoctorOptions& options) {
  const auto facts = examine_machine(std::filesystem::read_symlink("/proc/self/exe"));
  fmt::print("{}\n\n", describe(build_info()));
  for (const auto& fact : facts) {
    fmt::print("{:<8} {:<11} {}\n", word(fact.finding), fact.subject, fact.value);
    if (!fact.remedy.empty()) fmt::print("{:<8} {:<11} to get it: {}\n", "", "", fact.remedy);
    if (options.details && !fact.details.empty()) fmt::print("{}\n", fact.details);
  }
  const auto lacking = std::ranges::count(facts, Finding::kMissing, &MachineFact::finding);
  fmt::print("\n{}\n", lacking == 0 ? "Nothing is missing."
                                    : fmt::format("{} optional parts are missing.", lacking));
  return ExitCode::kOk;
}

}  // namespace

Command doctor_command() {
  auto options = std::make_shared<DoctorOptions>();
  return {
      .name = "doctor",
      .summary = "list what this machine has, what is missing and how to get it",
      .options = {{"--details", "also print the libraries' own descriptions", &options->details}},
      .run = [options] { return run_doctor(*options); }};
}

}  // namespace shoal
