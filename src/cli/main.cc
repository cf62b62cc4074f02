// The program `shoal`: the list of its commands, in the order of its help.
#include "cli/command_line.h"
#include "cli/crash.h"

int main(int argc, char** argv) {
  shoal::exit_on_crash();
  return static_cast<int>(shoal::run_command_line(
      {
          shoal::swarm_command(),
          shoal::bench_command(),
          shoal::doctor_command(),
      },
      argc, argv));
}
