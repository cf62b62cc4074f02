#include "bench/two_hosts.h"

#include <fmt/core.h>

#include "bench/command.h"

namespace shoal {

double iperf3_rate(const std::string& two_hosts) {
  const std::string command = fmt::format(
      "{} 1gbit -- sh -c 'if [ $RANK = 0 ]; then exec iperf3 -s -1 -B $MASTER_ADDR; else sleep 0.5;"
      " exec iperf3 -c $MASTER_ADDR -t 4 -f m; fi'",
      two_hosts);
  // "... 953 Mbits/sec    receiver": the rate as whole megabits.
  const std::string rate = " | sed -n 's|^.* \\([0-9.]*\\) Mbits/sec *receiver.*$|rate \\1|p'";
  return number_after(run_command(command + rate), "rate ", 0, command) * 1e6 / 8;
}

}  // namespace shoal
