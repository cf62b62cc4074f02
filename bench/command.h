// Runs programs for a benchmark, and reads numbers from their output.
#pragma once

#include <string>
#include <vector>

namespace shoal {

struct Finished {
  int status = 0;  // as of waitpid
  std::string output;
};

// Runs a shell command, and captures both streams.
Finished run_command(const std::string& command);

// Throws Error with the output if the command failed.
void require_success(const std::string& command, const Finished& finished);

// The word number `index` after the mark, as a number. Throws Error with the output if the command
// failed or there is no such number.
double number_after(const Finished& finished, const std::string& mark, int index,
                    const std::string& command);

// REQUIRES: values is not empty.
double median(std::vector<double> values);

}  // namespace shoal
