// Clusters and faults in the words that a user writes them in.
//
//   link        RATE:LATENCY             10gbit:20us     a rate of 0 has no limit
//   stragglers  none, or a list of KIND:NUMBER[@NODE], for all nodes or one:
//               constant:2@1             node 1 takes twice as long
//               jitter:0.2               each piece of work by a normal draw of this deviation
//               pareto:1.5               and by one of a Pareto tail of this shape
//   faults      none, or a list of KIND:NODE[>PEER]@WHEN[+LASTING][xFACTOR]:
//               crash:2@3s+1s            dies after 3 s and rejoins a second later; without +:
//               stays power-loss:2@3s+1s       so, and file data that was not synced is lost
//               freeze:1@2s+500ms        nothing of it runs for half a second
//               slow:1@2s+1sx4           its host works four times slower
//               partition:0@2s+1s        cut off from all others, both ways
//               cut:0>2@2s+1s            what it sends to node 2 does not arrive
//               link-slow:0@2s+1sx10     its host's interface is ten times slower
//               seed:7[@6s]              instead of a list: drawn as the swarm draws them, in the
//                                        first 6 s, after which everything is healed
//
// Rates: bit, kbit, mbit, gbit a second. Times: ns, us, ms, s, min, h.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "sim/cluster.h"
#include "sim/faults.h"

namespace shoal {

// All throw ConfigError, which names the word, what is wrong with it and the form that is right.
LinkModel parse_link(std::string_view flag, std::string_view text);
std::vector<Straggler> parse_stragglers(std::string_view text, std::size_t nodes);
FaultPlan parse_faults(std::string_view text, std::size_t nodes);

}  // namespace shoal
