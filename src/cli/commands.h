// The commands of `shoal`, each defined in the file of its name.
#pragma once

#include <string>
#include <vector>

#include "app/command.h"

namespace shoal {

Command advise_command();
Command bench_command();
Command calibrate_command();
Command compare_command();
Command completion_command(const std::vector<Command>& others);
Command doctor_command();
// `program`: the words behind -- on the command line, or null.
Command launch_command(const std::vector<std::string>* program);
Command probe_command();  // `train` starts it to measure ways of computing
Command report_command();
Command simulate_command();
Command swarm_command();
Command systems_command();
Command train_command();

}  // namespace shoal
