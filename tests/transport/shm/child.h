// A child process of a test: the test program itself, restarted to play a part. It ends with the
// test in every case.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace shoal {

inline std::string to_hex(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4U];
    text += kDigits[static_cast<unsigned char>(c) & 15U];
  }
  return text;
}

inline std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

class Child {
 public:
  explicit Child(std::vector<std::string> arguments) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    arguments.insert(arguments.begin(), {"shm_process_test", "--as"});
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {  // Only calls that are allowed between fork and exec.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      execv("/proc/self/exe", argv.data());
      _exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
  }
  ~Child() {
    end(SIGKILL);
    ::close(output_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void signal(int number) const { ASSERT_EQ(::kill(pid_, number), 0); }
  // Its next line; empty if it has ended, or writes nothing for too long.
  std::string line() const {
    std::string text;
    char c = 0;
    pollfd readable{output_, POLLIN, 0};
    while (poll(&readable, 1, 40'000) == 1 && read(output_, &c, 1) == 1 && c != '\n') text += c;
    return text;
  }
  // Ends it, by a signal unless `number` is 0, and returns how it ended.
  int end(int number) {
    if (pid_ <= 0) return status_;
    if (number != 0) ::kill(pid_, number);
    waitpid(pid_, &status_, 0);
    pid_ = 0;
    return status_;
  }

 private:
  pid_t pid_ = 0;
  int status_ = 0;
  int output_ = -1;
};

}  // namespace shoal
