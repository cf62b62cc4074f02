#include "decentral/algorithm.h"

#include <algorithm>
#include <utility>

#include "collective/exchange.h"
#include "decentral/loops.h"
#include "runtime/slices.h"
#include "runtime/task_group.h"

namespace shoal {

Task<void> DecentralAlgorithm::begin(ViewContext& context, Range model,
                                     const MembershipSnapshot& snapshot) {
  (void)context, (void)model, (void)snapshot;
  co_return;
}

Task<void> DecentralAlgorithm::result(ViewContext& context, Range model, Range out) {
  co_await mean_of_all(context, terms_.recipe.exchange, model, out, scratch());
}

Task<void> DecentralAlgorithm::resume(ViewContext& context, std::optional<Range> result,
                                      const std::vector<PerWorkerArray>& own) {
  (void)context, (void)result, (void)own;
  co_return;
}

Range DecentralAlgorithm::scratch() {
  if (!scratch_) scratch_.emplace(node_.endpoint, N_, substance_);
  return scratch_->all();
}

std::span<const float> numbers_of(const Reading& message, Elements n) {
  const auto* const data = reinterpret_cast<const float*>(message.data().data);
  return {data, data == nullptr ? 0 : n.value()};
}

std::pair<Rank, std::uint64_t> furthest(const MembershipSnapshot& snapshot) {
  const auto most = std::ranges::max_element(snapshot.meetings);
  return {Rank(static_cast<std::uint32_t>(most - snapshot.meetings.begin())), *most};
}

Task<void> sum_of_all(ViewContext& context, Exchange exchange, Range model, Range out,
                      Range scratch) {
  const std::uint64_t operation = context.operations(pieces_of(model.n, kModelPiece));
  if (!context.alone()) {
    co_await all_reduce_in_pieces(exchange, context.group, model, out, scratch, operation,
                                  kModelPiece);
  } else if (model.arena != out.arena) {
    co_await copy(context.node.env, out, model);
  }
}

Task<void> mean_of_all(ViewContext& context, Exchange exchange, Range model, Range out,
                       Range scratch) {
  co_await sum_of_all(context, exchange, model, out, scratch);
  if (!context.alone())
    co_await mix(context.node.env, out, 1 / static_cast<double>(context.size()), out, 0);
}

namespace {

Task<void> send_arrays(ViewContext& context, NodeId to, const std::vector<Range>& arrays,
                       std::uint64_t operation) {
  for (std::size_t i = 0; i < arrays.size(); ++i)
    co_await context.node.endpoint.send(to, context.group.tag(operation, i), arrays[i].bytes());
}

}  // namespace

Task<void> copy_from(ViewContext& context, Rank source, const std::vector<bool>& in_need,
                     std::vector<Range> arrays) {
  const std::uint64_t operation = context.operations();
  if (context.group.rank == source) {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      for (std::uint32_t r = 0; r < context.size(); ++r)
        if (in_need[r]) tasks.spawn(send_arrays(context, context.group.at(r), arrays, operation));
      co_return;
    });
  } else if (in_need[context.group.rank.value()]) {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const Match match{.from = context.group.view->at(source),
                        .tag = context.group.tag(operation, i)};
      const Received got = co_await context.node.endpoint.recv(match, arrays[i].bytes());
      require_size(got, arrays[i].bytes().size);
    }
  }
}

Task<void> mix(Env& env, Range to, double a, std::span<const float> with, double b) {
  const std::span<float> x = to.data();
  const SliceWork work = [&](std::size_t from, std::size_t end) {
    mix(&x[from], static_cast<float>(a), &with[from], static_cast<float>(b), end - from);
  };
  co_await in_slices(env, Work::Update, to.n.value(), x.empty(), Order::Forward, 1, work);
}

Task<void> clear(Env& env, Range range) {
  const std::span<float> x = range.data();
  const SliceWork work = [&](std::size_t begin, std::size_t end) {
    std::ranges::fill(x.subspan(begin, end - begin), 0.0F);
  };
  co_await in_slices(env, Work::Copy, range.n.value(), x.empty(), Order::Forward, 1, work);
}

Task<void> mean_gradient(TrainingRound& round) {
  const Range g = round.replica.g().all();
  const std::uint64_t samples = round.score().samples;
  return samples == 0 ? clear(round.env(), g)
                      : mix(round.env(), g, 1 / static_cast<double>(samples), g, 0);
}

std::unique_ptr<DecentralAlgorithm> make_decentral_algorithm(Node& node, const Learner& learner,
                                                             const DecentralTerms& terms) {
  return std::visit(
      [&](const auto& settings) { return make_algorithm(settings, node, learner, terms); },
      terms.recipe.algorithm);
}

}  // namespace shoal
