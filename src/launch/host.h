// The identity of this host, as other processes of the job see it.
#pragma once

#include <string>

#include "base/types.h"
#include "membership/messages.h"

namespace shoal {

// Two processes are on one host if they see the same kernel and the same network.
HostId this_host();
// The kernel alone: hosts that are network namespaces of one machine share its cores.
std::uint64_t this_kernel();
ProcessInfo this_process();
// The local address from which packets to `host` are sent, where others on that network reach this
// process. Empty: `host` is unknown or unreachable.
std::string address_towards(const std::string& host);

}  // namespace shoal
