#include "runtime/stitched_view.h"

#include "runtime/slices.h"

namespace shoal {
namespace {

std::shared_ptr<std::byte> room_of(Elements n, Substance substance) {
  if (substance == Substance::Phantom) return nullptr;
  return allocate_pages(n.value() * sizeof(float));
}

}  // namespace

StitchedView::StitchedView(Elements n, Substance substance) : room_(n, room_of(n, substance)) {}

Task<void> StitchedView::set(Node& node, Cut part, const float* there) {
  if (room_.phantom() || part.n == Elements(0)) co_return;
  const Range room = cut_of(all(), part);
  const Elements n = look_at(node, room, there);
  if (n < part.n) co_await copy(node.env, room.slice(n, part.n - n), there + n.value());
}

Elements StitchedView::look_at(Node& node, const Range& room, const float* there) {
  const auto before = seen_.find(room.at);
  if (before != seen_.end()) {
    if (before->second.there == there) return before->second.n;
    clear_pages(room.bytes().data, before->second.n.value() * sizeof(float));
    seen_.erase(before);
  }
  const ConstBuf all{reinterpret_cast<const std::byte*>(there), room.bytes().size};
  const Endpoint::Shown shown = node.endpoint.show(room.bytes(), all);
  const Elements n(shown.size.value() / sizeof(float));
  if (shown.lasts && n > Elements(0)) seen_[room.at] = {there, n};
  return n;
}

void StitchedView::forget() {
  for (const auto& [at, seen] : seen_)
    clear_pages(room_.range(at, seen.n).bytes().data, seen.n.value() * sizeof(float));
  seen_.clear();
}

}  // namespace shoal
