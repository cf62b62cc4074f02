// Measures the capacity of a link between two hosts, to compare with our figures.
#pragma once

#include <string>

namespace shoal {

// Bytes a second that iperf3 transfers over a link of 1 Gbit/s made by tools/two-hosts, whose path
// is given. Throws Error if it cannot be measured.
double iperf3_rate(const std::string& two_hosts);

}  // namespace shoal
