// Messages between hosts by UCX active messages, over TCP or RDMA.
//
// One worker a node, one endpoint a peer (or several, when asked), in peer-failure mode: a killed
// peer is an event. The message header travels as the active message's own header, the payload
// straight from the sender's range; large ones go by rendezvous, straight into the receiver's room.
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
  // Which of UCX's transports may be used, in its own syntax; "tcp,rc" adds InfiniBand.
  std::string transports = "tcp";
  // The address to listen on; its network device carries the messages. Loopback unless told
  // otherwise.
  std::string listen = "127.0.0.1";
  // Connections per peer and direction: one TCP flow may be capped below what the link carries.
  std::uint32_t lanes = 1;
  // TCP segments. As shipped (8 KiB) loopback carries half of what it does with these.
  Bytes segment{512 * 1024};
  // Messages from here on go by rendezvous. UCX by itself sends megabytes unasked, which are then
  // copied twice on their way to the room.
  Bytes rendezvous{768 * 1024};
  // How long to poll after traffic before sleeping: a wake-up costs more than the next message.
  Duration spin = std::chrono::microseconds(20);
  // UCX settings by name, as ucp_config_modify() takes them; they come last.
  std::vector<std::pair<std::string, std::string>> settings = {};
};

// Throws ConfigError when UCX refuses the options, or when this program was built without it.
std::unique_ptr<Carrier> make_ucx_carrier(LiveLoop& loop, const UcxOptions& options);

}  // namespace shoal
