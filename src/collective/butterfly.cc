#include "collective/butterfly.h"

#include "collective/fold.h"
#include "collective/reduce.h"
#include "collective/steps.h"

namespace shoal {
namespace {

// Sent, not given: nobody may add to what another still reads.
Task<void> double_up(const Group& group, Range data, Range scratch, std::uint64_t operation) {
  Endpoint& endpoint = group.node.endpoint;
  std::uint64_t round = 2;
  for (std::uint64_t d = 1; d < group.size(); d *= 2, ++round) {
    const NodeId partner = group.at(group.rank.value() ^ d);
    const Tag tag = group.tag(operation, round);
    const auto done =
        co_await all(endpoint.send(partner, tag, data.bytes()),
                     endpoint.recv(Match{.from = partner, .tag = tag}, scratch.bytes()));
    require_size(std::get<1>(done), data.bytes().size);
    std::vector<const float*> terms{data.data().data(), scratch.data().data()};
    co_await sum_up(group.node.env, data, 2, std::move(terms));
  }
}

}  // namespace

Task<void> butterfly_all_reduce(const Group& group, Range data, Range scratch,
                                std::uint64_t operation) {
  return folded(group, double_up, data, scratch, operation);
}

}  // namespace shoal
