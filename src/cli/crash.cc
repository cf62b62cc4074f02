#include "cli/crash.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "app/exit_code.h"

namespace shoal {
namespace {

// Only async-signal-safe calls: the heap or a lock may be in any state.
extern "C" void leave_after_crash(int signal) {
  const auto say = [](const char* text) {
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
      _exit(static_cast<int>(ExitCode::kCrash));
  };
  const std::array<char, 4> number{static_cast<char>('0' + signal / 10),
                                   static_cast<char>('0' + signal % 10), '\n', '\0'};
  say("shoal: crashed by signal ");
  say(number.data());
  _exit(static_cast<int>(ExitCode::kCrash));
}

}  // namespace

void exit_on_crash() {
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction current {};
    sigaction(signal, nullptr, &current);
    if (current.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = leave_after_crash;
    ours.sa_flags = static_cast<int>(SA_RESETHAND);  // a crash inside the handler ends the process
    sigaction(signal, &ours, nullptr);
  }
}

}  // namespace shoal
