// How long would it take to sum the gradients of ResNet-50 on a cluster that you do not have? The
// simulator runs the collectives message by message, in virtual time. A phantom arena has a size
// but no numbers, so a model of full size needs no memory.
//
//   build/release/bin/example_03_ask_the_simulator
//
// `shoal simulate` and `shoal compare --simulate` do the same for whole training runs.
#include <fmt/core.h>

#include "collective/exchange.h"
#include "sim/world.h"

using namespace shoal;
using namespace std::chrono_literals;

namespace {

constexpr Elements kModel{25'557'032};
constexpr GroupId kGroup{1};

// Virtual seconds from the first message to the end at the last worker.
double time_of(Exchange exchange, std::size_t workers, const LinkModel& link) {
  Cluster cluster = Cluster::uniform(workers, link);
  cluster.ns_per_element[static_cast<std::size_t>(Work::Reduce)] = 0.3;
  cluster.timing_only = true;
  World world(cluster, {.seed = Seed(1), .fixed_view = true});
  const Outcome outcome = world.run([&](Node& node) -> Task<> {
    Arena gradient(kModel, Substance::Phantom);
    Arena scratch(kModel, Substance::Phantom);
    const ViewPtr view = co_await node.membership.after(Generation(0));
    const Group group(node, kGroup, view);
    co_await all_reduce(exchange, group, gradient.all(), scratch.all(), 1);
  });
  return outcome.finished ? seconds(outcome.end) : -1;
}

}  // namespace

int main() {
  const LinkModel ethernet{.latency = 50us, .bytes_per_s = 125e6};  // 1 Gbit/s
  fmt::print("ms to sum {} parameters over 1 Gbit/s\n\n", kModel.value());
  fmt::print("{:>8}  {:>10}  {:>10}  {:>16}\n", "workers", "tree", "ring", "halving-doubling");
  for (const std::size_t workers : {2U, 4U, 8U, 16U, 32U, 64U}) {
    fmt::print("{:>8}", workers);
    for (const auto& [exchange, width] :
         {std::pair(Exchange::Tree, 10), {Exchange::Ring, 10}, {Exchange::HalvingDoubling, 16}})
      fmt::print("  {:>{}.1f}", 1e3 * time_of(exchange, workers, ethernet), width);
    fmt::print("\n");
  }
}
