#include "cli/own_run.h"

#include <fmt/core.h>
#include <poll.h>

#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "launch/job.h"
#include "launch/program.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

// The last message of shoal itself, with the hints that follow it.
std::string words_at_the_end(const fs::path& log, const std::string& otherwise) {
  std::ifstream file(log);
  std::string said, line;
  while (std::getline(file, line))
    if (line.starts_with("shoal: ")) said = line.substr(line.find(' ') + 1);
  return said.empty() ? otherwise : said;
}

}  // namespace

OwnRun run_own(const std::vector<std::string>& words, const fs::path& log) {
  Spawn request;
  request.command = {fs::read_symlink("/proc/self/exe").string()};
  request.command.insert(request.command.end(), words.begin(), words.end());
  for (const auto& [key, value] : whole_environment())
    request.environment.push_back(key + "=" + value);
  FILE* const file = std::fopen(log.c_str(), "w");
  if (file == nullptr)
    throw DataError(fmt::format("cannot write {}; is there write permission?", log.string()));
  request.out = request.err = fileno(file);
  const Child child = spawn(request);
  std::fclose(file);
  Ended ended;
  pollfd waited{child.exit.get(), POLLIN, 0};
  while (!has_ended(child, ended)) poll(&waited, 1, -1);
  reap(child);
  OwnRun run;
  run.ok = !ended.failed();
  if (!run.ok) run.why = words_at_the_end(log, describe(ended));
  return run;
}

}  // namespace shoal
