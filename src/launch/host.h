// Which host and which process this is, as other processes of the job see it.
#pragma once

#include <string>

#include "base/types.h"
#include "membership/messages.h"

namespace shoal {

// Two processes are on one host when they see the same kernel and the same network.
HostId this_host();
// That kernel, whatever network it shows: hosts that are namespaces of one machine share its cores.
std::uint64_t this_kernel();
ProcessInfo this_process();
// The own address that packets to `host` leave from: where others on that network find this one.
// Empty: there is no way to it, or no such host.
std::string address_towards(const std::string& host);

}  // namespace shoal
