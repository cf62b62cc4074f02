#include "bench/transport_bench.h"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "bench/command.h"
#include "bench/two_hosts.h"

namespace shoal {
namespace {

using Measure = std::function<double()>;

// Ours and theirs in turn, so that other load on the machine affects both.
void interleave(BenchRow& row, int rounds, const Measure& ours, const std::string& peer,
                const Measure& theirs) {
  std::vector<double> a;
  std::vector<double> b;
  for (int round = 0; round < rounds; ++round) {
    a.push_back(ours());
    b.push_back(theirs());
  }
  row.ours = median(a);
  row.peers[peer] = median(b);
  row.verified = true;  // a rank that receives anything else fails
}

std::string ranks_command(const TransportBenchOptions& o, const std::string& what) {
  return fmt::format("{0} launch -n 2 --no-tag -- {0} bench transport-rank {1}", o.shoal, what);
}

double between_ranks(const TransportBenchOptions& o, const std::string& what) {
  const std::string command = ranks_command(o, what);
  return number_after(run_command(command), "result ", 0, command);
}

// The environment is that of our own carrier: TCP over loopback, the same segments. `column`: in
// its last line, after "Final:".
double ucx_perftest(const std::string& test, std::uint64_t bytes, std::uint64_t iterations,
                    int column) {
  const std::string common = fmt::format(
      "env UCX_TLS=tcp UCX_NET_DEVICES=lo UCX_TCP_TX_SEG_SIZE=512K UCX_TCP_RX_SEG_SIZE=512K "
      "UCX_LOG_LEVEL=error ucx_perftest -e -p 13999 -t {} -s {} -n {} -w {}",
      test, bytes, iterations, iterations / 10 + 1);
  const std::string command =
      fmt::format("({0} > /dev/null 2>&1 & sleep 0.5; {0} 127.0.0.1; wait)", common);
  return number_after(run_command(command), "Final:", column, command);
}

BenchRow ucx_latency(const TransportBenchOptions& o) {
  BenchRow row{.name = "ucx, 8 bytes, one way",
               .unit = "us",
               .higher_is_better = false,
               .note = "polling; ucx_perftest -e, ucp_am_lat"};
  constexpr int kOverall = 3;  // after iterations, percentile, average
  interleave(
      row, o.rounds,
      [&] {
        return between_ranks(o, "--operation latency --transport ucx --size 8 --iterations 20000");
      },
      "ucx_perftest", [&] { return ucx_perftest("ucp_am_lat", 8, 20000, kOverall); });
  row.target = 1.5 * row.peers["ucx_perftest"];
  return row;
}

BenchRow ucx_bandwidth(const TransportBenchOptions& o) {
  BenchRow row{
      .name = "ucx, 4 MiB", .unit = "MB/s", .note = "loopback; ucx_perftest -e, ucp_am_bw"};
  constexpr int kOverall = 5;  // in MiB/s
  interleave(
      row, o.rounds,
      [&] {
        return between_ranks(
                   o, "--operation bandwidth --transport ucx --size 4194304 --iterations 400") /
               1e6;
      },
      "ucx_perftest", [&] { return ucx_perftest("ucp_am_bw", 4194304, 400, kOverall) * 1.048576; });
  row.target = 0.9 * row.peers["ucx_perftest"];
  return row;
}

BenchRow window_read(const TransportBenchOptions& o) {
  BenchRow row{.name = "window, 64 MiB read",
               .unit = "MB/s",
               .note = "copied out of the peer's memory; memcpy within that process, in turn"};
  const std::string command =
      ranks_command(o, "--operation read --transport shm --size 67108864 --iterations 10");
  Finished output;
  const auto number = [&](int column) {
    return number_after(output, "result ", column, command) / 1e6;
  };
  interleave(
      row, o.rounds,
      [&] {
        output = run_command(command);
        return number(0);
      },
      "memcpy", [&] { return number(1); });
  row.target = 0.9 * row.peers["memcpy"];
  return row;
}

BenchRow shm_latency(const TransportBenchOptions& o) {
  BenchRow row{
      .name = "shm, 8 bytes, one way", .unit = "us", .higher_is_better = false, .note = "polling"};
  std::vector<double> values;
  for (int round = 0; round < o.rounds; ++round)
    values.push_back(
        between_ranks(o, "--operation latency --transport shm --size 8 --iterations 20000"));
  row.ours = median(values);
  row.verified = true;
  return row;
}

// Goodput over the shaped link, as counted on it: bytes that crossed / payload must be near 1.
std::optional<BenchRow> two_hosts(const TransportBenchOptions& o) {
  if (o.two_hosts.empty()) return std::nullopt;
  BenchRow row{.name = "two hosts, 1 Gbit/s", .unit = "MB/s", .note = "4 MiB messages; iperf3"};
  const std::string json =
      (std::filesystem::temp_directory_path() / fmt::format("shoal-bench-{}.json", getpid()));
  constexpr double kBytes = 100 * 4194304.0;
  double crossed = 0;
  const auto ours = [&] {
    const std::string command = fmt::format(
        "{} --json {} 1gbit -- {} bench transport-rank --operation bandwidth --transport ucx "
        "--size 4194304 --iterations 50",
        o.two_hosts, json, o.shoal);
    const Finished finished = run_command(command);
    if (WIFEXITED(finished.status) && WEXITSTATUS(finished.status) == 77)
      throw ConfigError("two hosts need root and network namespaces");
    const double rate = number_after(finished, "result ", 0, command);
    const std::string cat = "cat " + json;
    crossed = number_after(run_command(cat), "\"sent_bytes\": [", 0, cat);
    return rate / 1e6;
  };
  const auto theirs = [&] { return iperf3_rate(o.two_hosts) / 1e6; };
  try {
    interleave(row, o.rounds, ours, "iperf3", theirs);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
  std::filesystem::remove(json);
  row.target = 0.95 * row.peers["iperf3"];
  // All bytes crossed the link, and none twice.
  row.verified = crossed >= kBytes && crossed < 1.1 * kBytes;
  row.note += fmt::format("; {:.3f} bytes on the link for each of the payload", crossed / kBytes);
  return row;
}

}  // namespace

std::vector<BenchRow> bench_transport(const TransportBenchOptions& options) {
  std::vector<BenchRow> rows = {ucx_latency(options), ucx_bandwidth(options), shm_latency(options),
                                window_read(options)};
  if (const auto row = two_hosts(options)) rows.push_back(*row);
  return rows;
}

}  // namespace shoal
