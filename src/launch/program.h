// Finds a program, and starts it as a child that cannot outlive this process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "launch/descriptor.h"
#include "launch/place.h"

namespace shoal {

// A program that cannot be run: status 127 if it is not found, 126 if it cannot be executed.
class CannotRun : public ConfigError {
 public:
  CannotRun(int status, const std::string& what) : ConfigError(what), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

// The path of the file that a shell would run for this name. Throws CannotRun.
std::string find_program(const std::string& name, const std::string& path_variable);

// How a process ended.
struct Ended {
  int code = 0;
  int signal = 0;  // 0: it exited
  bool failed() const { return code != 0 || signal != 0; }
  int status() const { return signal != 0 ? 128 + signal : code; }  // as in shells
};
std::string describe(const Ended& ended);

inline constexpr int kTokenDescriptor = 3;  // the child's descriptor for Spawn::token

struct Spawn {
  std::vector<std::string> command;      // the first word is the path of the program
  std::vector<std::string> environment;  // "NAME=value", complete
  int in = -1;                           // -1: empty; the caller keeps the descriptors
  int out = -1;                          // -1: inherited
  int err = -1;
  int token = -1;  // -1: none
  // The child leads a process group of its own and gets SIGKILL when the thread that started it
  // ends; or it leads a session of its own, and outlives this process.
  bool outlives_us = false;
};

// A started process. Its number and that of its group are not reused until reap().
struct Child {
  pid_t pid = -1;
  Descriptor exit;  // readable when it has ended
};

// Forks and executes. Returns when the program runs. Throws CannotRun.
Child spawn(const Spawn& request);
// Whether it has ended; sets `ended`. The process stays unreaped.
bool has_ended(const Child& child, Ended& ended);
void reap(const Child& child);

}  // namespace shoal
