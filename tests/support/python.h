// Runs a test script by the system's python3, which has Debian's packages, and returns its output:
// an independent reader of our files.
#pragma once

#include <fmt/core.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace shoal {

struct PythonResult {
  int status = -1;     // of the exit
  std::string output;  // both streams
};

// REQUIRES: neither path has a quote in it.
inline PythonResult run_python(const std::string& script, const std::string& argument) {
  const std::string command = fmt::format("/usr/bin/python3 -B '{}' '{}' 2>&1", script, argument);
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no pipe");
  PythonResult result;
  std::array<char, 4096> chunk{};
  for (std::size_t n = 0; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
    result.output.append(chunk.data(), n);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  return result;
}

}  // namespace shoal
