// Messages between hosts by UCX active messages, over TCP or RDMA.
//
// One worker per node, one endpoint per peer and direction (or several), with peer failure
// handling: a killed peer is an event. The message header travels as the active message's own
// header, the payload straight from the sender's range; large payloads go by rendezvous, straight
// into the receiver's buffer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/types.h"
#include "runtime/live/loop.h"
#include "transport/wire/carrier.h"

namespace shoal {

struct UcxOptions {
  // The allowed UCX transports, in UCX's syntax; "tcp,rc" adds InfiniBand.
  std::string transports = "tcp";
  // The address to listen on; its network device carries the messages. Loopback by default.
  std::string listen = "127.0.0.1";
  // Connections per peer and direction: one TCP connection may be capped below the link's rate.
  std::uint32_t lanes = 1;
  // TCP segments. With UCX's default (8 KiB) loopback carries half as much.
  Bytes segment{512 * 1024};
  // Larger messages go by rendezvous. By default UCX sends megabytes eagerly, which are then copied
  // twice on the way to the buffer.
  Bytes rendezvous{768 * 1024};
  // How long to poll after traffic before sleeping: a wake-up costs more than the wait for the next
  // message.
  Duration spin = std::chrono::microseconds(20);
  // UCX settings by name, for ucp_config_modify(); applied last.
  std::vector<std::pair<std::string, std::string>> settings = {};
};

// Throws ConfigError if UCX refuses the options, or this program was built without it.
std::unique_ptr<Carrier> make_ucx_carrier(LiveLoop& loop, const UcxOptions& options);

}  // namespace shoal
