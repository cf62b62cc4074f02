#include "transport/inproc_net.h"

#include <utility>

#include "base/check.h"
#include "transport/inproc.h"

namespace shoal {

void InprocNet::attach(const InprocPortPtr& port) {
  const std::lock_guard lock(mutex_);
  InprocPortPtr& entry = ports_[port->node];
  SHOAL_CHECK(entry == nullptr || entry->incarnation < port->incarnation,
              "node {} is attached twice as incarnation {}", port->node, port->incarnation);
  entry = port;
}

void InprocNet::detach(const InprocPortPtr& port, const std::string& why) {
  // Under the mutex, so that a node that attaches later finds the port gone, and a node that has
  // attached before is told.
  const std::lock_guard lock(mutex_);
  const auto it = ports_.find(port->node);
  if (it != ports_.end() && it->second == port) ports_.erase(it);
  for (const auto& entry : ports_) {
    const InprocPortPtr other = entry.second;
    other->loop->inject([other, gone = port->node, life = port->incarnation, why] {
      if (other->endpoint != nullptr) other->endpoint->lose(gone, life, why);
    });
  }
}

InprocPortPtr InprocNet::find(NodeId node) const {
  const std::lock_guard lock(mutex_);
  const auto it = ports_.find(node);
  return it == ports_.end() ? nullptr : it->second;
}

void InprocNet::deliver(const InprocParcelPtr& parcel) {
  parcel->target->loop->inject([parcel] {
    InprocEndpoint* const endpoint = parcel->target->endpoint;
    if (endpoint != nullptr) return endpoint->arrived(parcel);
    if (parcel->release()) answer(parcel, InprocOutcome::Gone, "its endpoint is closed");
  });
}

void InprocNet::take_back(const InprocParcelPtr& parcel) {
  parcel->target->loop->inject([parcel] {
    if (parcel->keep == nullptr) return;  // it was dropped meanwhile
    parcel->Arrival::unlink();
    parcel->keep.reset();
  });
}

void InprocNet::deliver_raw(NodeId from, NodeId to, std::vector<std::byte> frame) {
  const InprocPortPtr sender = find(from);
  const InprocPortPtr target = find(to);
  SHOAL_CHECK(sender != nullptr && target != nullptr, "no connection from node {} to {}", from, to);
  deliver(std::make_shared<InprocParcel>(sender, target, std::move(frame)));
}

void InprocNet::answer(const InprocParcelPtr& parcel, InprocOutcome outcome, std::string why) {
  parcel->sender->loop->inject([parcel, outcome, why = std::move(why)] {
    InprocEndpoint* const endpoint = parcel->sender->endpoint;
    if (endpoint != nullptr) endpoint->answered(parcel, outcome, why);
  });
}

}  // namespace shoal
