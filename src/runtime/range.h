// The flat arena and ranges of it. Model state is contiguous float32; everything above the learner
// moves ranges of elements, never tensors. A range is a handle: a phantom's holds no data.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/memory.h"
#include "base/types.h"
#include "runtime/buffer.h"
#include "runtime/endpoint.h"

namespace shoal {

struct Range;

// Whether an arena has memory or only a size (timing-only runs).
enum class Substance : std::uint8_t { Real, Phantom };

class Arena {
 public:
  // In memory that the peers of `endpoint` may read in place.
  Arena(Endpoint& endpoint, Elements n, Substance substance) : size_(n) {
    if (substance == Substance::Real)
      data_ =
          std::reinterpret_pointer_cast<float>(endpoint.allocate(Bytes(n.value() * sizeof(float))));
  }
  // In memory of its own.
  Arena(Elements n, Substance substance) : size_(n) {
    if (substance == Substance::Real)
      data_ = std::reinterpret_pointer_cast<float>(allocate_zeroed(n.value() * sizeof(float)));
  }
  // In the given memory; null: a phantom.
  Arena(Elements n, std::shared_ptr<std::byte> memory)
      : size_(n), data_(std::reinterpret_pointer_cast<float>(std::move(memory))) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Elements size() const { return size_; }
  bool phantom() const { return data_ == nullptr && size_.value() > 0; }
  float* data() { return data_.get(); }
  ConstBuf bytes() const {
    return {reinterpret_cast<const std::byte*>(data_.get()), Bytes(size_.value() * sizeof(float))};
  }
  Range all();
  Range range(Elements at, Elements n);

 private:
  Elements size_;
  std::shared_ptr<float> data_;
};

struct Range {
  Arena* arena = nullptr;
  Elements at;
  Elements n;

  // Empty for a phantom and for an empty range.
  std::span<float> data() const {
    float* base = arena == nullptr ? nullptr : arena->data();
    if (base == nullptr) return {};
    return {base + at.value(), n.value()};
  }
  MutBuf bytes() const {
    return {reinterpret_cast<std::byte*>(data().data()), Bytes(n.value() * sizeof(float))};
  }
  // REQUIRES: the slice lies inside.
  Range slice(Elements from, Elements count) const {
    SHOAL_CHECK_LE(from + count, n, "slice of {} elements at {}", count, from);
    return {arena, at + from, count};
  }
};

inline Range Arena::all() { return {this, Elements(0), size_}; }
inline Range Arena::range(Elements at, Elements n) { return all().slice(at, n); }

// Part i of `parts` nearly equal parts of a range; the first parts are the longer ones.
inline Range part_of(const Range& range, std::uint64_t i, std::uint64_t parts) {
  const std::uint64_t n = range.n.value();
  const std::uint64_t from = i * (n / parts) + std::min(i, n % parts);
  const std::uint64_t count = n / parts + (i < n % parts ? 1 : 0);
  return range.slice(Elements(from), Elements(count));
}

// The cuts of a range: into the shards of members by rank, some of which may be empty, or into
// pieces.
struct Cut {
  Elements at;  // offset from the beginning of the range
  Elements n;
};
using Cuts = std::vector<Cut>;
inline Range cut_of(const Range& range, const Cut& cut) { return range.slice(cut.at, cut.n); }

}  // namespace shoal
