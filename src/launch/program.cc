#include "launch/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/check.h"

namespace shoal {
namespace {

// Above the descriptor numbers of a child.
constexpr int kOutOfTheWay = 10;

bool is_file(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode);
}

Descriptor out_of_the_way(int descriptor) {
  if (descriptor < 0) return {};
  Descriptor copy(fcntl(descriptor, F_DUPFD_CLOEXEC, kOutOfTheWay));
  SHOAL_CHECK(copy.valid(), "descriptor {}: {}", descriptor, std::strerror(errno));
  return copy;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

struct Prepared {
  pid_t parent;
  const char* path;
  char* const* arguments;
  char* const* environment;
  int in, out, err, token, report;
  bool outlives_us;
};

// Runs in the child, which may be a copy of a process with threads: only async-signal-safe calls.
// Returns only if exec has failed.
void become(const Prepared& p) {
  if (p.outlives_us) {
    setsid();
  } else {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != p.parent) _exit(128 + SIGKILL);  // the parent died before prctl
  }
  if (dup2(p.in, 0) < 0) return;
  if (p.out >= 0 && dup2(p.out, 1) < 0) return;
  if (p.err >= 0 && dup2(p.err, 2) < 0) return;
  if (p.token >= 0 && dup2(p.token, kTokenDescriptor) < 0) return;
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (int s = 1; s < NSIG; ++s) sigaction(s, &by_default, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(p.path, p.arguments, p.environment);
}

[[noreturn]] void child_main(const Prepared& p) {
  become(p);
  const int error = errno;
  [[maybe_unused]] const ssize_t n = write(p.report, &error, sizeof error);
  _exit(127);
}

}  // namespace

std::string find_program(const std::string& name, const std::string& path_variable) {
  if (name.empty()) throw CannotRun(127, "the name of the program is empty");
  std::vector<std::string> candidates;
  if (name.find('/') != std::string::npos) {
    candidates.push_back(name);
  } else {
    for (std::size_t at = 0; at <= path_variable.size();) {
      const std::size_t end = std::min(path_variable.find(':', at), path_variable.size());
      const std::string folder = path_variable.substr(at, end - at);
      candidates.push_back((folder.empty() ? "." : folder) + "/" + name);
      at = end + 1;
    }
  }
  std::string unusable;
  for (const std::string& path : candidates) {
    if (is_file(path) && access(path.c_str(), X_OK) == 0) return path;
    struct stat facts {};
    if (unusable.empty() && stat(path.c_str(), &facts) == 0) unusable = path;
  }
  if (!unusable.empty())
    throw CannotRun(126,
                    fmt::format("{} is {}; nothing was started", unusable,
                                is_file(unusable) ? "not executable: chmod +x it" : "a folder"));
  throw CannotRun(127, fmt::format("the program '{}' was not found{}; nothing was started", name,
                                   name.find('/') == std::string::npos ? " in PATH" : ""));
}

std::string describe(const Ended& ended) {
  if (ended.signal == 0) return fmt::format("exit status {}", ended.code);
  return fmt::format("killed by signal {} ({})", ended.signal, strsignal(ended.signal));
}

Child spawn(const Spawn& request) {
  const std::vector<char*> arguments = pointers(request.command);
  const std::vector<char*> environment = pointers(request.environment);
  int ends[2];
  SHOAL_CHECK_EQ(pipe2(ends, O_CLOEXEC), 0, "pipe2: {}", std::strerror(errno));
  Descriptor report(ends[0]);
  Descriptor report_end(ends[1]);
  Descriptor nothing(request.in < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1);
  const Descriptor in = out_of_the_way(request.in < 0 ? nothing.get() : request.in);
  const Descriptor out = out_of_the_way(request.out);
  const Descriptor err = out_of_the_way(request.err);
  const Descriptor token = out_of_the_way(request.token);
  report_end = out_of_the_way(report_end.get());
  const Prepared prepared{getpid(),         request.command.front().c_str(),
                          arguments.data(), environment.data(),
                          in.get(),         out.get(),
                          err.get(),        token.get(),
                          report_end.get(), request.outlives_us};

  // None of our signal handlers may run in the child before exec.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Child child;
  child.pid = fork();
  const int fork_error = errno;
  if (child.pid == 0) child_main(prepared);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child.pid < 0)
    throw CannotRun(126, fmt::format("cannot create a process for {}: {}", request.command.front(),
                                     std::strerror(fork_error)));
  // Both processes do this, because either may come first.
  if (!request.outlives_us) setpgid(child.pid, child.pid);
  child.exit = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, child.pid, 0)));
  SHOAL_CHECK(child.exit.valid(), "pidfd_open: {}", std::strerror(errno));

  report_end.reset();
  int error = 0;
  ssize_t n = 0;
  while ((n = read(report.get(), &error, sizeof error)) < 0 && errno == EINTR) continue;
  if (n != sizeof error) return child;
  reap(child);
  const bool missing = error == ENOENT;
  throw CannotRun(
      missing ? 127 : 126,
      fmt::format("{} cannot be run: {}{}", request.command.front(), std::strerror(error),
                  missing ? "  (the program, or the interpreter in its first line)" : ""));
}

bool has_ended(const Child& child, Ended& ended) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(child.exit.get());
  if (waitid(P_PIDFD, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return false;
  ended = info.si_code == CLD_EXITED ? Ended{info.si_status, 0} : Ended{0, info.si_status};
  return true;
}

void reap(const Child& child) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(child.exit.get());
  while (waitid(P_PIDFD, id, &info, WEXITED) != 0 && errno == EINTR) continue;
}

}  // namespace shoal
