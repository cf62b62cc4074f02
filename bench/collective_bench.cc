#include "bench/collective_bench.h"

#include <fmt/core.h>
#include <sys/wait.h>

#include <algorithm>
#include <map>
#include <optional>
#include <thread>

#include "base/error.h"
#include "bench/command.h"
#include "bench/two_hosts.h"

namespace shoal {
namespace {

constexpr double kSlowLinkShare = 0.93;
// One piece, whose messages must go both ways at once, and many under way.
constexpr std::uint64_t kSlowLinkBytes[] = {std::uint64_t{4} << 20U, std::uint64_t{64} << 20U};

std::string list_of(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (const std::uint64_t n : numbers) text += fmt::format("{}{}", text.empty() ? "" : ",", n);
  return text;
}

// One program, measured once per round: all sizes, in microseconds.
class Contender {
 public:
  Contender(std::string command, std::vector<std::string> ways)
      : command_(std::move(command)), ways_(std::move(ways)) {}

  void run(const std::vector<std::uint64_t>& sizes) {
    const Finished finished = run_command(command_);
    for (const std::string& way : ways_)
      for (const std::uint64_t bytes : sizes)
        times_[way][bytes].push_back(
            number_after(finished, fmt::format("result {} {} ", way, bytes), 0, command_));
  }
  double time(const std::string& way, std::uint64_t bytes) const {
    return median(times_.at(way).at(bytes));
  }

 private:
  std::string command_;
  std::vector<std::string> ways_;
  std::map<std::string, std::map<std::uint64_t, std::vector<double>>> times_;
};

Contender ours(const CollectiveBenchOptions& o) {
  return {
      fmt::format("{0} launch -n {1} --no-tag -- {0} bench collective-rank --procs {1} --bytes {2}",
                  o.shoal, o.procs, list_of(o.bytes)),
      {"owned", "copied"}};
}

Contender peer(const CollectiveBenchOptions& o, const std::string& name) {
  const std::string sizes = list_of(o.bytes);
  if (name == "gloo")
    return {fmt::format("/usr/bin/python3 -B {}/gloo_collective.py {} {}", SHOAL_BENCH_PEERS,
                        o.procs, sizes),
            {"copied"}};
  if (name != "mpi")
    throw ConfigError(fmt::format("--peer {}: expected one or more of gloo, mpi, none", name));
  const std::string program = SHOAL_MPI_PEER;
  if (program.empty())
    throw ConfigError(
        "--peer mpi: this build found no Open MPI; install libopenmpi-dev, build again");
  // With more processes than cores, Open MPI is told so, and yields instead of spinning.
  const char* crowd = o.procs > std::thread::hardware_concurrency() ? " --oversubscribe" : "";
  return {fmt::format("mpirun --allow-run-as-root{} -n {} {} {}", crowd, o.procs, program, sizes),
          {"copied"}};
}

std::string size_name(std::uint64_t bytes) {
  if (bytes % (1U << 20U) == 0) return fmt::format("{} MiB", bytes >> 20U);
  if (bytes % 1024 == 0) return fmt::format("{} KiB", bytes / 1024);
  return fmt::format("{} B", bytes);
}

// The target as a multiple of the better peer's speed; 0: none.
double times_asked(const std::string& way, std::uint64_t bytes) {
  if (bytes >= 64U << 20U) return way == "owned" ? 5 : 4;
  if (bytes >= 4U << 20U) return way == "owned" ? 4 : 3;
  return 0;
}

std::vector<BenchRow> one_host(const CollectiveBenchOptions& o) {
  Contender shoal = ours(o);
  std::map<std::string, Contender> peers;
  for (const std::string& name : o.peers)
    if (name != "none") peers.emplace(name, peer(o, name));
  // In turn, so that other load on the machine affects all alike.
  for (int round = 0; round < o.rounds; ++round) {
    shoal.run(o.bytes);
    for (auto& [name, contender] : peers) contender.run(o.bytes);
  }
  std::vector<BenchRow> rows;
  for (const std::uint64_t bytes : o.bytes) {
    for (const std::string way : {"owned", "copied"}) {
      BenchRow row{.name = fmt::format("all-reduce, {}, {}", size_name(bytes), way),
                   .ours = shoal.time(way, bytes),
                   .unit = "us",
                   .higher_is_better = false,
                   .verified = true};  // a rank with another sum fails
      row.op = "all-reduce " + way;
      row.bytes = bytes;
      row.procs = o.procs;
      for (const auto& [name, contender] : peers) row.peers[name] = contender.time("copied", bytes);
      row.note = fmt::format("{} processes", o.procs);
      if (!row.peers.empty()) {
        const double best = row.ratio() * row.ours;  // the better peer
        const double asked = times_asked(way, bytes);
        if (asked > 0) row.target = best / asked;
        if (asked == 0 && row.peers.contains("mpi")) row.target = row.peers["mpi"];
        row.note += fmt::format("; {:.2f}x the better peer", row.ratio());
      }
      rows.push_back(row);
    }
  }
  return rows;
}

// Each of two members sends and receives all bytes once; iperf3 sends as much one way.
std::optional<BenchRow> slow_link(const CollectiveBenchOptions& o, std::uint64_t bytes) {
  if (o.two_hosts.empty()) return std::nullopt;
  const std::string command =
      fmt::format("{} 1gbit -- {} bench collective-rank --transport ucx --procs 2 --bytes {}",
                  o.two_hosts, o.shoal, bytes);
  std::vector<double> rates;
  std::vector<double> theirs;
  for (int round = 0; round < o.rounds; ++round) {
    const Finished finished = run_command(command);
    if (WIFEXITED(finished.status) && WEXITSTATUS(finished.status) == 77) return std::nullopt;
    const double us = number_after(finished, fmt::format("result copied {} ", bytes), 0, command);
    rates.push_back(static_cast<double>(bytes) / us);
    theirs.push_back(iperf3_rate(o.two_hosts) / 1e6);
  }
  BenchRow row{.name = fmt::format("all-reduce, {}, two hosts", size_name(bytes)),
               .ours = median(rates),
               .unit = "MB/s",
               .verified = true,
               .note = "bytes each way in a second, over 1 Gbit/s"};
  row.op = "all-reduce copied";
  row.bytes = bytes;
  row.procs = 2;
  row.peers["iperf3"] = median(theirs);
  if (bytes == std::end(kSlowLinkBytes)[-1]) row.target = kSlowLinkShare * row.peers["iperf3"];
  return row;
}

}  // namespace

std::vector<BenchRow> bench_collective(const CollectiveBenchOptions& options) {
  std::vector<BenchRow> rows = one_host(options);
  for (const std::uint64_t bytes : kSlowLinkBytes)
    if (const auto row = slow_link(options, bytes)) rows.push_back(*row);
  return rows;
}

}  // namespace shoal
