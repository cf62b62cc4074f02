#include "decentral/model_sum.h"

#include <algorithm>
#include <tuple>

#include "collective/exchange.h"
#include "collective/steps.h"
#include "decentral/loops.h"
#include "decentral/rendezvous.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

constexpr std::uint64_t kUnderWay = 4;  // pieces, each way

struct Swap {
  Company& company;
  Range mine;
  Range others;
  std::uint64_t pieces;
  std::uint64_t operation;
};

// Every `kUnderWay`-th piece from `first` on, one after the other.
Task<void> swap_some(const Swap& s, std::uint64_t first) {
  const Group& group = s.company.group;
  const NodeId other = group.at(1 - group.rank.value());
  for (std::uint64_t i = first; i < s.pieces; i += kUnderWay) {
    const Tag tag = group.tag(s.operation + i, 0);
    const MutBuf room = part_of(s.others, i, s.pieces).bytes();
    const auto done =
        co_await all(group.node.endpoint.send(other, tag, part_of(s.mine, i, s.pieces).bytes()),
                     group.node.endpoint.recv(Match{.from = other, .tag = tag}, room));
    require_size(std::get<1>(done), room.size);
  }
}

Task<void> swap_models(Company& company, Range mine, Range others) {
  const std::uint64_t pieces = pieces_of(mine.n, kModelPiece);
  const Swap swap{company, mine, others, pieces, company.operations(pieces)};
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t first = 0; first < std::min(pieces, kUnderWay); ++first)
      tasks.spawn(swap_some(swap, first));
    co_return;
  });
}

}  // namespace

Range ModelSum::scratch() {
  if (!scratch_) scratch_.emplace(node_.endpoint, sum_.size(), substance_);
  return scratch_->all();
}

Task<void> ModelSum::form(Company& company, Exchange exchange, Range given) {
  const auto scale = static_cast<float>(1 / static_cast<double>(company.size()));
  if (company.alone()) {
    terms_ = {given, std::nullopt, scale};
  } else if (company.size() == 2) {
    co_await swap_models(company, given, sum_.all());
    terms_ = {given, sum_.all(), scale};
  } else {
    co_await sum_of_all(company, exchange, given, sum_.all(), scratch());
    terms_ = {sum_.all(), std::nullopt, scale};
  }
}

void ModelSum::mean(std::size_t at, std::span<float> out) const {
  const float* const second = terms_.second ? terms_.second->data().data() + at : nullptr;
  mean_of(out.data(), terms_.first.data().data() + at, second, terms_.scale, out.size());
}

}  // namespace shoal
