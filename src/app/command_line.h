// From argv to a command's run function, and from whatever happens there to an exit code.
#pragma once

#include <string>
#include <vector>

#include "app/command.h"

namespace shoal {

// Prints usage errors to stderr; an unknown command, option or choice is answered with the nearest
// known one. ConfigError and DataError are usage errors as well, any other exception is a crash.
ExitCode run_command_line(const Command& program, int argc, const char* const* argv);
// The help of the program `shoal` with these commands.
ExitCode run_command_line(const std::vector<Command>& commands, int argc, const char* const* argv);

// Sets the options of a program that has no commands; `words` are those of a command line. Throws
// ConfigError.
void parse_options(const Command& program, const std::vector<std::string>& words);

}  // namespace shoal
