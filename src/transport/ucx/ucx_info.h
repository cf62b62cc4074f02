// What the UCX library of this machine offers, for `shoal doctor`.
#pragma once

#include <string>
#include <vector>

namespace shoal {

struct UcxInfo {
  bool built_in = false;                // false: this program was built without UCX.
  std::string version;                  // of the library that was loaded, not of the headers
  std::vector<std::string> transports;  // such as "tcp", "posix", "rc_verbs"; sorted, each once
};

UcxInfo ucx_info();

}  // namespace shoal
