#include "runtime/slices.h"

#include <algorithm>
#include <cmath>

#include "base/stream_copy.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

constexpr std::size_t kSlicesUnderWay = 64;

struct Slices {
  Env& env;
  Work kind;
  std::size_t n;
  Order order;
  double cost;
  const SliceWork& work;
  bool aside;

  Elements charge(std::size_t elements) const {
    return Elements(static_cast<std::uint64_t>(std::llround(static_cast<double>(elements) * cost)));
  }
};

Task<void> some_slices(const Slices& s, std::size_t first, std::size_t stride) {
  const std::size_t slices = (s.n + kSliceElements - 1) / kSliceElements;
  for (std::size_t i = first; i < slices; i += stride) {
    const std::size_t at = (s.order == Order::Forward ? i : slices - 1 - i) * kSliceElements;
    const std::size_t end = std::min(s.n, at + kSliceElements);
    const auto slice = [&] { s.work(at, end); };
    WorkOf op = s.aside ? s.env.work_aside(s.kind, s.charge(end - at), slice)
                        : s.env.work(s.kind, s.charge(end - at), slice);
    co_await op;
  }
}

}  // namespace

// Many slices are submitted at once, so that the compute thread always has the next one, even while
// the loop is busy. An Env runs work of a kind in order, one piece after the other, so slices never
// overlap, and sums have the same bits.
Task<void> in_slices(Env& env, Work kind, std::size_t n, bool phantom, Order order, double cost,
                     const SliceWork& work, bool aside) {
  const Slices slices{env, kind, n, order, cost, work, aside};
  if (phantom) {
    const auto nothing = [] {};
    WorkOf op = aside ? env.work_aside(kind, slices.charge(n), nothing)
                      : env.work(kind, slices.charge(n), nothing);
    co_await op;
  } else if (n <= kSliceElements) {
    co_await some_slices(slices, 0, 1);
  } else {
    const Context context = co_await current();
    TaskGroup group(context);
    for (std::size_t first = 0; first < kSlicesUnderWay; ++first)
      group.spawn(some_slices(slices, first, kSlicesUnderWay));
    co_await group.join();
  }
}

Task<void> copy(Env& env, Range to, const float* from) {
  const MutBuf room = to.bytes();
  const auto* const source = reinterpret_cast<const std::byte*>(from);
  const SliceWork work = [&](std::size_t begin, std::size_t end) {
    const std::size_t at = begin * sizeof(float);
    copy_slice(room.data + at, source + at, (end - begin) * sizeof(float), room.size.value());
  };
  const bool phantom = room.data == nullptr || source == nullptr;
  co_await in_slices(env, Work::Copy, to.n.value(), phantom, Order::Forward, 1, work);
}

}  // namespace shoal
