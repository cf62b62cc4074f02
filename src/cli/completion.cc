// shoal completion: prints a script with which a shell completes our command lines.
#include "app/completion.h"

#include <fmt/core.h>

#include "cli/commands.h"

namespace shoal {

Command completion_command(const std::vector<Command>& others) {
  struct Options {
    std::string shell;
  };
  auto o = std::make_shared<Options>();
  Command program;
  program.name = "shoal";
  program.subcommands = others;
  Command own{.name = "completion",
              .summary =
                  "print a script that completes commands and options: source <(shoal completion "
                  "bash)",
              .options = {{"shell", "bash or zsh", &o->shell, true, {"bash", "zsh"}}}};
  program.subcommands.push_back(own);
  own.run = [o, program] {
    const Shell shell = o->shell == "zsh" ? Shell::Zsh : Shell::Bash;
    fmt::print("{}", completion_script(program, "shoal shoalw ./shoalw", shell));
    return ExitCode::kOk;
  };
  return own;
}

}  // namespace shoal
