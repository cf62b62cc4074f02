// A command described as data: a subcommand of `shoal`, one file each, or the whole program of a
// user of the C++ API.
//
// command_line.cc alone includes CLI11, which takes seconds to compile, and translates. A command's
// file looks like this, and main.cc lists it:
//
//   Command swarm_command() {
//     struct Options { std::uint64_t seeds = 1000; bool quiet = false; };
//     auto o = std::make_shared<Options>();            // shared with run, which outlives this call
//     return {.name = "swarm",
//             .summary = "simulated runs with faults drawn from seeds",
//             .options = {{"--seeds", "how many seeds to run", &o->seeds},
//                         {"--quiet", "print failures only", &o->quiet}},
//             .run = [o] { return run_swarm(*o); }};
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "app/exit_code.h"

namespace shoal {

// A bool is a flag without a value. A vector takes values until the next option.
using OptionTarget = std::variant<bool*, std::int64_t*, std::uint64_t*, double*, std::string*,
                                  std::vector<std::string>*>;

struct Option {
  std::string name;  // "--seeds"; a name without dashes is positional
  std::string help;
  OptionTarget target;  // holds the default until the command line is parsed
  bool required = false;
  std::vector<std::string> choices = {};  // when given, anything else is an error
};

// The last of "-n,--ranks": the name that messages and files use.
inline std::string last_name(const Option& option) {
  return option.name.substr(option.name.rfind(',') + 1);
}

struct Command {
  std::string name;
  std::string summary;
  std::vector<Option> options = {};
  std::function<ExitCode()> run = {};     // may throw Error; empty when a subcommand is required
  std::vector<Command> subcommands = {};  // as in `shoal bench sim`
  // Gets the names of the options that the command line had: others may come from a file.
  std::vector<std::string>* given = nullptr;
};

}  // namespace shoal
