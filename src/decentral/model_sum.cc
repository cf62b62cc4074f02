#include "decentral/model_sum.h"

#include "collective/exchange.h"
#include "collective/steps.h"
#include "decentral/algorithm.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

// Sends all pieces at once, so that the transport knows the total.
Task<void> swap_models(ViewContext& context, Range mine, Range others) {
  const Group& group = context.group;
  const NodeId other = group.at(1 - group.rank.value());
  const std::uint64_t pieces = pieces_of(mine.n, kModelPiece);
  const std::uint64_t operation = context.operations(pieces);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const Tag tag = group.tag(operation + i, 0);
      const ConstBuf piece = part_of(mine, i, pieces).bytes();
      tasks.spawn(as_task(group.node.endpoint.send(other, tag, piece)));
      tasks.spawn(receive(group, other, tag, part_of(others, i, pieces).bytes()));
    }
    co_return;
  });
}

}  // namespace

Range ModelSum::scratch() {
  if (!scratch_) scratch_.emplace(node_.endpoint, sum_.size(), substance_);
  return scratch_->all();
}

Task<void> ModelSum::form(ViewContext& context, Exchange exchange, Range given) {
  const auto scale = static_cast<float>(1 / static_cast<double>(context.size()));
  if (context.alone()) {
    terms_ = {given, std::nullopt, scale};
  } else if (context.size() == 2) {
    co_await swap_models(context, given, sum_.all());
    terms_ = {given, sum_.all(), scale};
  } else {
    co_await sum_of_all(context, exchange, given, sum_.all(), scratch());
    terms_ = {sum_.all(), std::nullopt, scale};
  }
}

Met ModelSum::met(std::span<float> model, std::span<const float> copied) const {
  const float* const second = terms_.second ? terms_.second->data().data() : nullptr;
  return {model.data(), copied.data(), terms_.first.data().data(), second, terms_.scale, nullptr};
}

}  // namespace shoal
