#include "live/job.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace shoal {

using namespace std::chrono_literals;

Nanoseconds monotonic_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

LiveJob::LiveJob(const LiveJobOptions& options) : path_(folder_.path()), options_(options) {
  std::vector<std::string> words = {SHOAL_PROGRAM, "launch", "-n", std::to_string(options.ranks)};
  words.insert(words.end(), options.launch.begin(), options.launch.end());
  words.insert(words.end(), {"--", SHOAL_LIVE_RANK, "--folder", path_, "--steps",
                             std::to_string(options.steps)});
  words.insert(words.end(), options.rank.begin(), options.rank.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string log = path_ + "/output";

  launcher_ = fork();
  if (launcher_ < 0) throw std::runtime_error("fork");
  if (launcher_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // The launcher's own children end with it, too.
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  execv(argv[0], argv.data());
  _exit(127);
}

LiveJob::~LiveJob() {
  if (status_) return;
  kill(launcher_, SIGTERM);
  wait();
}

int LiveJob::wait() {
  if (status_) return *status_;
  int status = 0;
  if (waitpid(launcher_, &status, 0) != launcher_) throw std::runtime_error("waitpid");
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return *status_;
}

RankLog LiveJob::log(std::uint32_t rank) const {
  RankLog log;
  std::ifstream file(path_ + "/rank-" + std::to_string(rank) + ".log");
  std::string line;
  while (std::getline(file, line)) {
    if (file.eof()) break;  // Without a newline the line is still being written.
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "pid") {
      words >> log.pids.emplace_back();
    } else if (what == "view") {
      LiveView& v = log.views.emplace_back();
      words >> v.at >> v.generation >> v.members;
    } else if (what == "step") {
      LiveStep& s = log.steps.emplace_back();
      words >> s.at >> s.step >> s.generation;
    } else if (what == "fenced") {
      words >> log.fenced.emplace_back();
    } else if (what == "done") {
      Nanoseconds at = 0;
      std::uint64_t step = 0;
      words >> at >> step >> log.done.emplace();
    }
  }
  return log;
}

bool LiveJob::eventually(const std::function<bool()>& holds) {
  const Nanoseconds limit = monotonic_now() + 60'000'000'000LL;
  while (monotonic_now() < limit) {
    if (holds()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

bool LiveJob::all_in_step() const {
  std::optional<std::uint64_t> generation;
  for (std::uint32_t r = 0; r < options_.ranks; ++r) {
    const RankLog l = log(r);
    if (l.steps.empty() || l.views.empty()) return false;
    const LiveView& view = l.views.back();
    if (view.members != options_.ranks || l.steps.back().generation != view.generation)
      return false;
    if (generation.value_or(view.generation) != view.generation) return false;
    generation = view.generation;
  }
  return true;
}

std::optional<Nanoseconds> LiveJob::recovered(Nanoseconds since, std::uint32_t without) const {
  std::optional<Nanoseconds> first;
  for (std::uint32_t r = 0; r < options_.ranks; ++r) {
    if (r == without) continue;
    const RankLog l = log(r);
    // A step in a view that was seen after the loss.
    for (const LiveView& v : l.views) {
      if (v.at < since) continue;
      for (const LiveStep& s : l.steps) {
        if (s.at < since || s.generation < v.generation) continue;
        if (!first || s.at < *first) first = s.at;
        break;
      }
      break;
    }
  }
  return first;
}

std::string LiveJob::output() const {
  std::ifstream file(path_ + "/output");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace shoal
