// Which host and which process this is, as other processes of the job see it.
#pragma once

#include "base/types.h"
#include "membership/messages.h"

namespace shoal {

// Two processes are on one host when they see the same kernel and the same network.
HostId this_host();
ProcessInfo this_process();

}  // namespace shoal
