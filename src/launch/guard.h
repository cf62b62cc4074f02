// Guard: a small process that kills our process groups if this process dies without doing so.
//
// The kernel kills our children with us (PR_SET_PDEATHSIG), but not their children.
#pragma once

#include <sys/types.h>

#include <string>

#include "launch/program.h"

namespace shoal {

// Thread safety: none. The guard starts with the first add().
class Guard {
 public:
  Guard() = default;
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  void add(pid_t group);
  void remove(pid_t group);  // the group is empty

 private:
  void tell(const std::string& line);

  Child shell_;
  Descriptor words_;
};

}  // namespace shoal
