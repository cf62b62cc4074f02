#include "decentral/audit.h"

#include <bit>
#include <cmath>

namespace shoal {
namespace {

// Different weights make sure that swapped numbers change the sum.
constexpr std::size_t kWeights = 7;

}  // namespace

void Moment::add(const Moment& other, double weight) {
  sum += weight * other.sum;
  size += std::abs(weight) * other.size;
}

Moment moment_of(std::span<const float> x, Elements at) {
  Moment moment;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint64_t weight = 1 + (at.value() + i) % kWeights;
    const double term = static_cast<double>(weight) * static_cast<double>(x[i]);
    moment.sum += term;
    moment.size += std::abs(term);
  }
  return moment;
}

void ConservationProbe::of(Range range, double weight) {
  if (!round_.terms.task.audit) return;
  parts_.push_back({range, weight});
  before_.add(moment_of(range.data(), range.at), weight);
}

void ConservationProbe::add(std::span<const float> numbers, double weight) {
  if (round_.terms.task.audit) told_.add(moment_of(numbers), weight);
}

Moment ConservationProbe::moment() const {
  Moment moment = told_;
  for (const Part& part : parts_)
    moment.add(moment_of(part.range.data(), part.range.at), part.weight);
  moment.add(before_, -1);
  return moment;
}

void ConservationProbe::record(NodeId peer, std::uint64_t number) const {
  if (!round_.terms.task.audit) return;
  const Moment all = moment();
  Event event = round_.context.event(EventKind::ModelMoved, peer);
  event.a = std::bit_cast<std::uint64_t>(all.sum);
  event.b = std::bit_cast<std::uint64_t>(all.size);
  event.c = number;
  round_.env().record(event);
}

void note_weight(ViewContext& context, EventKind kind, NodeId peer, double weight, double own) {
  Event event = context.event(kind, peer);
  event.a = std::bit_cast<std::uint64_t>(weight);
  event.b = std::bit_cast<std::uint64_t>(own);
  context.node.env.record(event);
}

}  // namespace shoal
