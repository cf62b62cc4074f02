#include "bench/command.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "base/error.h"

namespace shoal {

Finished run_command(const std::string& command) {
  Finished result;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw Error("cannot start a shell");
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) result.output += buffer.data();
  result.status = pclose(pipe);
  return result;
}

void require_success(const std::string& command, const Finished& finished) {
  if (finished.status != 0)
    throw Error(fmt::format("`{}` ended with status {}:\n{}", command, finished.status,
                            finished.output.substr(0, 2000)));
}

double number_after(const Finished& finished, const std::string& mark, int index,
                    const std::string& command) {
  const std::size_t at = finished.output.find(mark);
  double value = 0;
  bool found = finished.status == 0 && at != std::string::npos;
  if (found) {
    std::istringstream words(finished.output.substr(at + mark.size()));
    std::string word;
    for (int i = 0; i < index; ++i) words >> word;
    found = static_cast<bool>(words >> value);
  }
  if (!found)
    throw Error(fmt::format("`{}` ended with status {} and no result:\n{}", command,
                            finished.status, finished.output.substr(0, 2000)));
  return value;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace shoal
