// What a link between two hosts carries, beside our own figures.
#pragma once

#include <string>

namespace shoal {

// Bytes a second that iperf3 brings over a link of 1 Gbit/s made by tools/two-hosts, whose path is
// given. Throws Error when it cannot be measured.
double iperf3_rate(const std::string& two_hosts);

}  // namespace shoal
