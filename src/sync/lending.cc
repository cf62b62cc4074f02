#include "sync/lending.h"

#include "base/error.h"

namespace shoal {

void Lending::lend(const Group& group, Loan& loan, Range range, std::uint64_t operation,
                   Reads reads) {
  loan += group.size() - 1;
  for (std::uint64_t k = 1; k < group.size(); ++k)
    tasks_->spawn(lend_to(group, group.at((group.rank.value() + k) % group.size()),
                          group.tag(operation, 0), range, loan, reads));
}

// A lost peer reads nothing any more.
Task<void> Lending::lend_to(const Group& group, NodeId to, Tag tag, Range range, Loan& loan,
                            Reads reads) {
  Endpoint& endpoint = group.node.endpoint;
  SendOp lent = reads == Reads::UntilNextStep ? endpoint.lend(to, tag, range.bytes())
                                              : endpoint.publish(to, tag, range.bytes());
  try {
    co_await lent;
  } catch (const PeerLost&) {
  }
  if (--loan == 0) returned_.notify_all();
}

Task<void> Lending::returned(const Loan& loan) {
  while (loan > 0) co_await returned_.wait();
}

}  // namespace shoal
