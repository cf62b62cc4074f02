// Completion of command lines by the shell, generated from the commands.
//
//   source <(shoal completion bash)
#pragma once

#include <string>

#include "app/command.h"

namespace shoal {

enum class Shell : std::uint8_t { Bash, Zsh };

// A script that the shell is to read: commands, their options, and the choices of these where they
// are known; files elsewhere. `names`: of the program, as it may be called, apart by spaces.
std::string completion_script(const Command& program, const std::string& names, Shell shell);

}  // namespace shoal
