// Parses the text forms of links, stragglers and faults:
//
//   link        RATE:LATENCY             10gbit:20us     a rate of 0 means no limit
//   stragglers  none, or a list of KIND:NUMBER[@NODE], for all nodes or one:
//               constant:2@1             node 1 takes twice as long
//               jitter:0.2               each piece of work by a normal draw of this deviation
//               pareto:1.5               each piece of work by a Pareto draw of this shape
//   faults      none, or a list of KIND:NODE[>PEER]@WHEN[+DURATION][xFACTOR]:
//               crash:2@3s+1s            node 2 dies after 3 s and rejoins a second later;
//                                        without + it stays dead
//               power-loss:2@3s+1s       the same, and unsynced file data is lost
//               freeze:1@2s+500ms        the node stands still for half a second
//               slow:1@2s+1sx4           its host works four times slower
//               partition:0@2s+1s        it is cut off from all others, both ways
//               cut:0>2@2s+1s            messages from node 0 to node 2 do not arrive
//               link-slow:0@2s+1sx10     its host's interface is ten times slower
//               seed:7[@6s]              drawn as in the swarm, in the first 6 s; then
//                                        everything is healed
//
// Rates: bit, kbit, mbit, gbit per second. Times: ns, us, ms, s, min, h.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "sim/cluster.h"
#include "sim/faults.h"

namespace shoal {

// All throw ConfigError, which names the word, the problem and the right form.
LinkModel parse_link(std::string_view flag, std::string_view text);
std::vector<Straggler> parse_stragglers(std::string_view text, std::size_t nodes);
FaultPlan parse_faults(std::string_view text, std::size_t nodes);

}  // namespace shoal
