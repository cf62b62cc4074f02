#include "decentral/rendezvous.h"

#include <algorithm>
#include <utility>

#include "collective/exchange.h"
#include "decentral/loops.h"
#include "runtime/slices.h"
#include "runtime/task_group.h"

namespace shoal {

Task<void> Rendezvous::begin(Company& company, Range model, const Roll& roll) {
  (void)company, (void)model, (void)roll;
  co_return;
}

Task<void> Rendezvous::result(Company& company, Range model, Range out) {
  co_await mean_of_all(company, terms_.exchange, model, out, scratch());
}

Task<void> Rendezvous::resume(Company& company, std::optional<Range> result,
                              const std::vector<OwnArray>& own) {
  (void)company, (void)result, (void)own;
  co_return;
}

Range Rendezvous::scratch() {
  if (!scratch_) scratch_.emplace(node_.endpoint, N_, substance_);
  return scratch_->all();
}

std::span<const float> numbers_of(const Reading& message, Elements n) {
  const auto* const data = reinterpret_cast<const float*>(message.data().data);
  return {data, data == nullptr ? 0 : n.value()};
}

std::pair<Rank, std::uint64_t> furthest(const Roll& roll) {
  const auto most = std::ranges::max_element(roll.meetings);
  return {Rank(static_cast<std::uint32_t>(most - roll.meetings.begin())), *most};
}

Task<void> sum_of_all(Company& company, Exchange exchange, Range model, Range out, Range scratch) {
  const std::uint64_t operation = company.operations(pieces_of(model.n, kModelPiece));
  if (!company.alone()) {
    co_await all_reduce_in_pieces(exchange, company.group, model, out, scratch, operation,
                                  kModelPiece);
  } else if (model.arena != out.arena) {
    co_await copy(company.node.env, out, model);
  }
}

Task<void> mean_of_all(Company& company, Exchange exchange, Range model, Range out, Range scratch) {
  co_await sum_of_all(company, exchange, model, out, scratch);
  if (!company.alone())
    co_await mix(company.node.env, out, 1 / static_cast<double>(company.size()), out, 0);
}

namespace {

Task<void> send_arrays(Company& company, NodeId to, const std::vector<Range>& arrays,
                       std::uint64_t operation) {
  for (std::size_t i = 0; i < arrays.size(); ++i)
    co_await company.node.endpoint.send(to, company.group.tag(operation, i), arrays[i].bytes());
}

}  // namespace

Task<void> copy_from(Company& company, Rank source, const std::vector<bool>& in_need,
                     std::vector<Range> arrays) {
  const std::uint64_t operation = company.operations();
  if (company.group.rank == source) {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      for (std::uint32_t r = 0; r < company.size(); ++r)
        if (in_need[r]) tasks.spawn(send_arrays(company, company.group.at(r), arrays, operation));
      co_return;
    });
  } else if (in_need[company.group.rank.value()]) {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const Match match{.from = company.group.view->at(source),
                        .tag = company.group.tag(operation, i)};
      const Received got = co_await company.node.endpoint.recv(match, arrays[i].bytes());
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

Task<void> mean_gradient(Leg& leg) {
  const Range g = leg.replica.g().all();
  const std::uint64_t samples = leg.score().samples;
  return samples == 0 ? clear(leg.env(), g)
                      : mix(leg.env(), g, 1 / static_cast<double>(samples), g, 0);
}

std::unique_ptr<Rendezvous> make_rendezvous(Node& node, const Learner& learner,
                                            const DecentralTerms& terms) {
  switch (terms.peering.meet) {
    case Encounter::Average:
    case Encounter::Never: return make_average(node, learner, terms);
    case Encounter::Block: return make_block(node, learner, terms);
    case Encounter::Elastic: return make_elastic(node, learner, terms);
    case Encounter::Neighbours: return make_neighbours(node, learner, terms);
    case Encounter::Pairs: return make_pairs(node, learner, terms);
    case Encounter::Gossip: return make_gossip(node, learner, terms);
    case Encounter::Scatter: return make_scatter(node, learner, terms);
    case Encounter::Tree: return make_tree(node, learner, terms);
    case Encounter::Learners: return make_learners(node, learner, terms);
    case Encounter::Master: return make_master(node, learner, terms);
    case Encounter::Parts: return make_parts(node, learner, terms);
    case Encounter::Stream: return make_stream(node, learner, terms);
    case Encounter::Wild: return make_wild(node, learner, terms);
  }
  return make_average(node, learner, terms);
}

}  // namespace shoal
