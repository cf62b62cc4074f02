// The program `shoal`: the list of its commands, in the order of its help.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "cli/commands.h"
#include "cli/crash.h"

int main(int argc, char** argv) {
  shoal::exit_on_crash();
  // The command line of `shoal launch`'s program reaches it unchanged.
  const bool launches = argc > 1 && std::string_view(argv[1]) == "launch";
  char** const end = argv + argc;
  char** const dashes = launches ? std::find(argv, end, std::string_view("--")) : end;
  const std::vector<std::string> program(dashes == end ? end : dashes + 1, end);
  std::vector<shoal::Command> commands = {
      shoal::train_command(),
      shoal::simulate_command(),
      shoal::compare_command(),
      shoal::report_command(),
      shoal::systems_command(),
      shoal::advise_command(),
      shoal::calibrate_command(),
      shoal::swarm_command(),
      shoal::launch_command(dashes == end ? nullptr : &program),
      shoal::bench_command(),
      shoal::doctor_command(),
      shoal::probe_command(),
  };
  commands.push_back(shoal::completion_command(commands));
  return static_cast<int>(shoal::run_command_line(commands, static_cast<int>(dashes - argv), argv));
}
