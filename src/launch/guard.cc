#include "launch/guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace shoal {
namespace {

// Reads "+ GROUP" and "- GROUP" from its stdin, which closes when this process ends.
constexpr const char* kScript =
    "while read -r verb group; do case $verb in "
    "+) groups=\"$groups $group\" ;; "
    "-) left=; for g in $groups; do [ \"$g\" = \"$group\" ] || left=\"$left $g\"; done; "
    "groups=$left ;; esac; done; "
    "for g in $groups; do kill -s KILL -- \"-$g\"; done";

}  // namespace

Guard::~Guard() {
  if (!words_.valid()) return;
  words_.reset();
  reap(shell_);
}

void Guard::add(pid_t group) {
  if (!words_.valid()) {
    int ends[2];
    SHOAL_CHECK_EQ(pipe2(ends, O_CLOEXEC), 0, "pipe2: {}", std::strerror(errno));
    const Descriptor reading(ends[0]);
    words_ = Descriptor(ends[1]);
    const Descriptor nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    Spawn request;
    request.command = {"/bin/sh", "-c", kScript, "shoal-guard"};
    request.in = reading.get();
    request.out = nowhere.get();
    request.err = nowhere.get();
    request.outlives_us = true;
    shell_ = spawn(request);
  }
  tell(fmt::format("+ {}\n", group));
}

void Guard::remove(pid_t group) { tell(fmt::format("- {}\n", group)); }

void Guard::tell(const std::string& line) {
  // Fails if the guard was killed; the kernel still ends our children.
  [[maybe_unused]] const ssize_t n = write(words_.get(), line.data(), line.size());
}

}  // namespace shoal
