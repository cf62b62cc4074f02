#include "bench/sim_bench.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>

#include "learner/phantom.h"
#include "sim/checkers/checker.h"
#include "sim/world.h"
#include "sync/sync.h"

namespace shoal {

using namespace std::chrono_literals;

namespace {

// Time of one core: the simulator is one thread, and the machine may be shared.
double cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Every node passes a message to the next and receives one from the previous, `rounds` times.
Task<void> pass_around(Node& node, std::uint32_t nodes, std::uint64_t rounds) {
  const NodeId next((node.id.value() + 1) % nodes);
  const NodeId previous((node.id.value() + nodes - 1) % nodes);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const Tag tag{GroupId(1), Generation(1), i};
    const ConstBuf out{nullptr, Bytes(1000)};
    const MutBuf in{nullptr, Bytes(1000)};
    co_await all(node.endpoint.send(next, tag, out),
                 node.endpoint.recv(Match{.from = previous, .tag = tag}, in));
  }
}

struct Rate {
  double messages_per_s;
  bool right;
};

Rate message_rate(std::uint32_t nodes, std::uint64_t rounds, bool recorded) {
  Recorder recorder(256);
  const auto checkers = all_checkers();
  for (const auto& checker : checkers) recorder.observe(*checker);
  World world(Cluster::uniform(nodes, {.latency = 10us, .bytes_per_s = 1e9}),
              {.seed = Seed(1), .recorder = recorded ? &recorder : nullptr, .fixed_view = true});
  const double start = cpu_s();
  const Outcome outcome = world.run([&](Node& node) { return pass_around(node, nodes, rounds); });
  const double took = cpu_s() - start;
  // Each round costs the latency and the transmission of 1000 bytes, exactly.
  bool right =
      outcome.finished && outcome.messages == nodes * rounds && outcome.end == Time(rounds * 11us);
  for (const auto& checker : checkers) right = right && checker->violations().empty();
  if (recorded) right = right && recorder.events() >= 3 * outcome.messages;
  return {static_cast<double>(outcome.messages) / took, right};
}

std::size_t allocated() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

// The memory per node that waits for a message, including the world's own tables.
BenchRow idle_memory(std::uint32_t nodes) {
  BenchRow row{
      .name = "memory of an idle node", .unit = "bytes", .target = 4096, .higher_is_better = false};
  const std::size_t before = allocated();
  World world(Cluster::uniform(nodes, {.latency = 10us, .bytes_per_s = 1e9}),
              {.seed = Seed(1), .fixed_view = true, .time_limit = 1ms});
  std::size_t during = 0;
  std::uint64_t waiting = 0;
  world.at(Time(500us), [&] { during = allocated(); });
  const Outcome outcome = world.run([&](Node& node) -> Task<> {
    ++waiting;
    std::byte b{};
    co_await node.endpoint.recv(Match{.from = node.id, .tag = Tag{GroupId(1), Generation(1), 0}},
                                mut_buf(b));
  });
  row.ours = static_cast<double>(during - before) / nodes;
  row.verified = waiting == nodes && !outcome.finished;
  row.note = fmt::format("{} nodes", nodes);
  return row;
}

// The synchronous strategy with a phantom model of full size.
BenchRow thousand_nodes(std::uint32_t nodes, std::uint64_t steps) {
  BenchRow row{.name = "timing-only nodes x steps", .unit = "messages/s"};
  // Two layers of AlexNet's size: 61 M parameters.
  const std::vector<PhantomLayer> layers = {
      {"convolutions", Elements(2'500'000), Elements(1000), Elements(2000)},
      {"fully connected", Elements(58'500'000), Elements(200), Elements(400)}};
  class NoCheckpointStore final : public CheckpointStore {
    Task<void> save(Replica&) override { co_return; }
    Task<bool> load(Replica&) override { co_return false; }
  };
  Cluster cluster = Cluster::uniform(nodes, {.latency = 20us, .bytes_per_s = 1.25e9});
  cluster.ns_per_element.fill(1);
  cluster.timing_only = true;
  const TrainingTask task{.samples = 1'000'000,
                          .global_batch = std::uint64_t{32} * nodes,
                          .steps = Step(steps),
                          .evaluate = false};
  const InStep recipe;
  std::uint64_t done = 0;
  const double start = cpu_s();
  World world(cluster, {.seed = Seed(1), .fixed_view = true});
  const Outcome outcome = world.run([&](Node& node) -> Task<> {
    PhantomLearner learner(layers);
    NoCheckpointStore checkpoints;
    Replica replica(node.endpoint, learner, Ledger(Seed(1), task.samples));
    co_await sync_worker(node, learner, checkpoints, replica, task, recipe);
    if (replica.step == Step(steps)) ++done;
  });
  const double took = cpu_s() - start;
  row.ours = static_cast<double>(outcome.messages) / took;
  row.verified = outcome.finished && done == nodes && outcome.errors.empty();
  row.note =
      fmt::format("{} nodes, {} steps of a 61 M-parameter phantom: {} messages, {:.2f} virtual s",
                  nodes, steps, outcome.messages, seconds(outcome.end));
  return row;
}

}  // namespace

std::vector<BenchRow> bench_sim(double scale, int repeats) {
  std::vector<BenchRow> rows;
  const auto rounds = static_cast<std::uint64_t>(std::max(10.0, 100'000 * scale));
  struct Case {
    const char* name;
    bool recorded;
    double target;
  };
  for (const Case& c :
       {Case{"messages, bare", false, 3e6}, Case{"messages, recorder and checkers", true, 1e6}}) {
    BenchRow row{.name = c.name, .unit = "messages/s", .target = c.target, .verified = true};
    std::vector<double> rates;
    for (int i = 0; i < repeats; ++i) {
      const Rate rate = message_rate(16, rounds, c.recorded);
      rates.push_back(rate.messages_per_s);
      row.verified = row.verified && rate.right;
    }
    row.ours = median(rates);
    row.note = fmt::format("16 nodes, {} rounds, median of {}", rounds, repeats);
    rows.push_back(row);
  }
  rows.push_back(idle_memory(static_cast<std::uint32_t>(std::max(100.0, 10'000 * scale))));
  rows.push_back(thousand_nodes(static_cast<std::uint32_t>(std::max(10.0, 1000 * scale)), 1));
  return rows;
}

}  // namespace shoal
