#include "bench/collective_rank.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>

#include "base/error.h"
#include "bench/settle.h"
#include "collective/cost.h"
#include "collective/direct.h"
#include "collective/dissemination.h"
#include "collective/exchange.h"
#include "collective/links.h"
#include "collective/steps.h"
#include "launch/process.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

constexpr GroupId kGroup{7};
constexpr std::uint64_t kBytesOfARun = std::uint64_t{512} << 20U;
constexpr std::uint64_t kWarmUp = 5;  // rounds before the clock starts, one in so many
constexpr std::uint64_t kPeriod = 1000;
constexpr std::uint64_t kSlice = std::uint64_t{1} << 18U;  // elements
constexpr Elements kPiece{std::uint64_t{1} << 20U};

std::uint64_t rounds_of(std::uint64_t bytes) {
  return std::clamp<std::uint64_t>(kBytesOfARun / std::max<std::uint64_t>(bytes, 1), 8, 10000);
}

// Whole numbers, so that sums are exact in any order.
float coded(std::uint64_t r, std::uint64_t i) {
  return static_cast<float>((r + 1) * (i % kPeriod + 1));
}

void verify(std::span<const float> part, std::uint64_t at, std::uint64_t P) {
  for (std::uint64_t i = 0; i < part.size(); ++i) {
    const float expected = static_cast<float>(P * (P + 1) / 2 * ((at + i) % kPeriod + 1));
    if (part[i] != expected)
      throw Error(fmt::format("the sum at {} is {} and not {}", at + i, part[i], expected));
  }
}

// Runs f(from, to) over n elements, a slice per turn, so that heartbeats are sent on a busy
// machine.
template <class F>
Task<void> in_slices(Env& env, std::uint64_t n, F f) {
  for (std::uint64_t at = 0; at < n; at += kSlice) {
    const std::uint64_t end = std::min(n, at + kSlice);
    co_await env.work(Work::Copy, Elements(end - at), [&] { f(at, end); });
  }
}

// The ranges of an all-reduce of one size, in memory that peers read in place.
class Case {
 public:
  Case(const Group& group, std::uint64_t bytes, Exchange exchange)
      : group_(group),
        exchange_(exchange),
        in_place_(exchange == Exchange::Direct && group.hosts() == 1),
        data_(group.node.endpoint, Elements(bytes / sizeof(float)), Substance::Real),
        sum_(group.node.endpoint, data_.size(), Substance::Real),
        scratch_(group.node.endpoint, data_.size(), Substance::Real) {}

  Task<void> fill() {
    const auto fill = [&](std::uint64_t from, std::uint64_t to) {
      for (std::uint64_t i = from; i < to; ++i) data_.data()[i] = coded(group_.rank.value(), i);
    };
    co_await in_slices(group_.node.env, data_.size().value(), fill);
  }

  // The sum stays in parts with its owners; all members can read all of it.
  Task<void> owned(std::uint64_t operation) {
    return in_place_ ? directly_owned(operation) : copied(operation);
  }
  // Every member has a copy of the whole sum.
  Task<void> copied(std::uint64_t operation) {
    if (in_place_) return directly_copied(operation);
    return all_reduce_in_pieces(exchange_, group_, data_.all(), sum_.all(), scratch_.all(),
                                operation, kPiece);
  }
  Task<void> verify_all() {
    const auto check = [&](std::uint64_t from, std::uint64_t to) {
      verify({sum_.data() + from, to - from}, from, group_.size());
    };
    co_await in_slices(group_.node.env, sum_.size().value(), check);
  }
  Task<void> forget() {
    const auto clear = [&](std::uint64_t from, std::uint64_t to) {
      std::fill(sum_.data() + from, sum_.data() + to, 0.0F);
    };
    co_await in_slices(group_.node.env, sum_.size().value(), clear);
  }
  Elements elements() const { return data_.size(); }
  void look_closely(bool closely) { closely_ = closely; }

 private:
  Task<void> directly_owned(std::uint64_t operation) {
    co_await direct_reduce_scatter(group_, data_.all(), own_part(), operation);
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      const Tag tag = group_.tag(operation, 1);
      for (std::uint64_t k = 1; k < group_.size(); ++k) {
        const std::uint64_t from = (group_.rank.value() + k) % group_.size();
        tasks.spawn(as_task(give(group_, group_.at(from), tag, own_part())));
        tasks.spawn(look_at(from, tag));
      }
      co_return;
    });
  }
  Task<void> directly_copied(std::uint64_t operation) {
    co_await direct_reduce_scatter(group_, data_.all(), own_part(), operation);
    co_await direct_all_gather(group_, sum_.all(), operation);
  }

  Range own_part() { return part_of(sum_.all(), group_.rank.value(), group_.size()); }

  Task<void> look_at(std::uint64_t owner, Tag tag) {
    const Match match{.from = group_.at(owner), .tag = tag};
    const Reading reading = co_await group_.node.endpoint.read(match);
    const Range place = part_of(data_.all(), owner, group_.size());
    require_size(reading, place.bytes().size);
    const std::span<const float> part = floats(reading.data());
    const auto check = [&](std::uint64_t from, std::uint64_t to) {
      verify(part.subspan(from, to - from), place.at.value() + from, group_.size());
    };
    if (closely_) co_await in_slices(group_.node.env, part.size(), check);
    if (!part.empty())
      verify(part.subspan(part.size() - 1), (place.at + place.n).value() - 1, group_.size());
  }

  const Group& group_;
  const Exchange exchange_;
  const bool in_place_;  // members read each other's parts where they lie
  Arena data_;
  Arena sum_;
  Arena scratch_;
  bool closely_ = true;
};

enum class Way : std::uint8_t { Owned, Copied };

Task<void> measure_way(const Group& group, Case& memory, Way way, std::uint64_t bytes,
                       std::uint64_t& operation) {
  const std::uint64_t rounds = rounds_of(bytes);
  const std::uint64_t warm = rounds / kWarmUp + 1;
  Time begun{};
  co_await memory.forget();
  co_await settle(group.node.env, bytes);
  for (std::uint64_t i = 0; i < warm + rounds; ++i) {
    memory.look_closely(i == 0);
    if (i == warm) {
      co_await barrier(group, ++operation);
      begun = group.node.env.now();
    }
    operation += pieces_of(memory.elements(), kPiece);
    if (way == Way::Owned) {
      co_await memory.owned(operation);
    } else {
      co_await memory.copied(operation);
      if (i == 0) co_await memory.verify_all();
    }
  }
  const double took = seconds(group.node.env.now() - begun);
  if (way == Way::Copied) co_await memory.verify_all();
  co_await barrier(group, ++operation);
  if (group.rank != Rank(0)) co_return;
  fmt::print("result {} {} {:.6g}\n", way == Way::Owned ? "owned" : "copied", bytes,
             took / static_cast<double>(rounds) * 1e6);
  std::fflush(stdout);
}

// The ranges of all sizes live as long as the network may use them.
struct Memory {
  explicit Memory(Node& node) : links(node.endpoint, Substance::Real) {}
  LinkRoom links;
  std::vector<std::unique_ptr<Case>> cases;
};

Task<void> measure_all(const Group& group, Memory& memory, const CollectiveRankOptions& o) {
  std::uint64_t operation = 0;
  const CostModel costs = co_await measure_links(group, memory.links, ++operation);
  for (const std::uint64_t bytes : o.bytes) {
    Choice choice = choose(costs, shape_of(group), Bytes(bytes));
    if (o.exchange != "auto") choice = {parse_exchange(o.exchange), 0, o.exchange + ", as asked"};
    if (group.rank == Rank(0)) fmt::print(stderr, "{}\n", choice.why);
    memory.cases.push_back(std::make_unique<Case>(group, bytes, choice.exchange));
    Case& here = *memory.cases.back();
    co_await here.fill();
    co_await measure_way(group, here, Way::Owned, bytes, operation);
    co_await measure_way(group, here, Way::Copied, bytes, operation);
    memory.cases.pop_back();
  }
}

Task<void> measure(Node& node, const CollectiveRankOptions& o) {
  while (node.membership.now().size() < o.procs)
    co_await node.membership.after(node.membership.now().generation);
  const Group group(node, kGroup, std::make_shared<const View>(node.membership.now()));
  Memory memory(node);
  std::exception_ptr error;
  try {
    co_await measure_all(group, memory, o);
  } catch (...) {
    error = std::current_exception();
  }
  co_await node.endpoint.retire(kGroup, group.view->generation);
  if (error) std::rethrow_exception(error);
}

}  // namespace

void run_collective_rank(const CollectiveRankOptions& options) {
  FromEnvironment env = process_from_environment(environment_of_this_process());
  env.options.transports = {options.transport};
  env.options.compute_thread = false;
  env.options.log = false;
  Process process(env.options);
  process.run([&](Node& node) { return measure(node, options); });
}

}  // namespace shoal
