// SharedToken: a file by which the processes of a job on one host agree on a secret.
//
// It holds the token and its maker: the process and its start time, which distinguish a file that
// was left behind from that of a running job.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/check.h"
#include "base/error.h"
#include "launch/descriptor.h"
#include "launch/token.h"

namespace shoal {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(5);

// The start time of the process, in ticks since boot; empty: there is no such process.
std::string start_of(long pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t name_end = text.rfind(')');  // the name may contain anything
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return field;
}

// Converts a name to part of a file name: letters and digits stay, other characters are replaced; a
// hash separates jobs whose names become the same.
std::string file_name(const Place& place) {
  std::string name;
  for (const char c : place.job.substr(0, 40)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    name += plain ? c : '_';
  }
  return fmt::format("shoal-{}-{}-{}-{}.token", geteuid(), name, port_of_job(place.job),
                     place.master_port);
}

enum class Found : std::uint8_t { Nothing, Stale, Token };
struct Content {
  Found found = Found::Nothing;
  std::string token;
  long pid = 0;
};

Content look(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid() && errno == ENOENT) return {};
  if (!file.valid())
    throw ConfigError(fmt::format("{} cannot be opened: {}", path, std::strerror(errno)));
  struct stat facts {};
  SHOAL_CHECK_EQ(fstat(file.get(), &facts), 0);
  if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & 077U) != 0)
    throw ConfigError(
        fmt::format("{} was not made by this user (user {}, mode {:o}); remove "
                    "it, or set SHOAL_TOKEN_FILE",
                    path, facts.st_uid, facts.st_mode & 07777U));
  std::string text(512, '\0');
  const ssize_t n = pread(file.get(), text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  std::istringstream words(text);
  Content content;
  std::string start;
  words >> content.token >> content.pid >> start;
  content.token = parse_token(content.token, path);
  content.found = !start.empty() && start_of(content.pid) == start ? Found::Token : Found::Stale;
  return content;
}

}  // namespace

SharedToken::SharedToken(const Place& place, const std::string& folder,
                         std::chrono::milliseconds patience)
    : place_(place), path_(folder + "/" + file_name(place)) {
  if (place_.rank == 0)
    make(folder);
  else
    wait_for(patience);
}

SharedToken::~SharedToken() { all_have_joined(); }

void SharedToken::all_have_joined() {
  if (!ours_) return;
  ours_ = false;
  unlink(path_.c_str());
}

// Written under another name and then linked, so that no process sees half of it; link() fails if
// the name exists.
void SharedToken::make(const std::string& folder) {
  token_ = new_token();
  std::string part = fmt::format("{}/.shoal-token-XXXXXX", folder);
  const Descriptor file(mkostemp(part.data(), O_CLOEXEC));  // mode 0600
  if (!file.valid())
    throw ConfigError(
        fmt::format("the file for the job's secret cannot be made in {}: {}; set "
                    "SHOAL_TOKEN_FILE or XDG_RUNTIME_DIR",
                    folder, std::strerror(errno)));
  write_all(file.get(), fmt::format("{} {} {}\n", token_, getpid(), start_of(getpid())));
  std::string problem;
  for (int attempt = 0; attempt < 3 && !ours_ && problem.empty(); ++attempt) {
    ours_ = link(part.c_str(), path_.c_str()) == 0;
    if (ours_) break;
    if (errno != EEXIST) {
      problem = std::strerror(errno);
      break;
    }
    const Content there = look(path_);
    if (there.found == Found::Stale) unlink(path_.c_str());
    if (there.found == Found::Token)
      problem = fmt::format("rank 0 of job {} runs already, as process {}", place_.job, there.pid);
  }
  unlink(part.c_str());
  if (!ours_)
    throw ConfigError(fmt::format("{} cannot be made: {}", path_,
                                  problem.empty() ? "another process keeps making it" : problem));
}

void SharedToken::wait_for(std::chrono::milliseconds patience) {
  for (auto waited = std::chrono::milliseconds(0); waited <= patience; waited += kLookEvery) {
    Content there = look(path_);
    if (there.found == Found::Token) {
      token_ = std::move(there.token);
      return;
    }
    std::this_thread::sleep_for(kLookEvery);
  }
  throw ConfigError(
      fmt::format("rank {} of job {} ({}) waited {} s for rank 0 to make {}; is rank "
                  "0 running on this host?",
                  place_.rank, place_.job, place_.source, patience.count() / 1000, path_));
}

}  // namespace shoal
