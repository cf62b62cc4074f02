// Programs that a benchmark runs, and the numbers in what they print.
#pragma once

#include <string>
#include <vector>

namespace shoal {

struct Finished {
  int status = 0;  // as of waitpid
  std::string output;
};

// By the shell; both streams are kept.
Finished run_command(const std::string& command);

// Throws Error, with what was printed, when it failed.
void require_success(const std::string& command, const Finished& finished);

// The word number `index` after the mark, as a number. Throws Error, with what was printed, when
// the command failed or there is none.
double number_after(const Finished& finished, const std::string& mark, int index,
                    const std::string& command);

// REQUIRES: there are some.
double median(std::vector<double> values);

}  // namespace shoal
