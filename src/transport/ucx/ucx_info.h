// The properties of this machine's UCX library, for `shoal doctor`.
#pragma once

#include <string>
#include <vector>

namespace shoal {

struct UcxInfo {
  bool built_in = false;                // false: this program was built without UCX
  std::string version;                  // of the loaded library, not of the headers
  std::vector<std::string> transports;  // such as "tcp", "posix", "rc_verbs"; sorted, without
                                        // repetitions
};

UcxInfo ucx_info();

}  // namespace shoal
