// Lists of positions and values, summed as in SparCML: Renggli, Ashkboos, Aghagolzadeh, Alistarh,
// Hoefler, "SparCML: high-performance sparse communication for machine learning", SC 2019,
// arXiv:1802.08021.
//
//   a list has c bytes a position and v a value; a full range v an element: more than N v/(v+c)
//   values are shorter as a full range
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "codec/codec.h"
#include "runtime/buffer.h"

namespace shoal {

// The sum of lists of n elements; as a message a list, or the full range if that is shorter.
class SparseSum {
 public:
  explicit SparseSum(Elements n) : n_(n.value()) {}  // nothing yet
  // Takes the nonzero elements of the range. REQUIRES: the sum is empty.
  void take(std::span<const float> range);
  // Adds a message. Corrupt unless it is a list or range of n elements.
  void add(ConstBuf message);

  bool dense() const { return dense_; }
  Bytes size() const;
  void write(MutBuf out) const;  // size() bytes
  void write(std::span<float> range) const;
  static Bytes most(Elements n);
  // The size of a message with this number of nonzero values.
  static Bytes size_of(Elements n, std::uint64_t values);

 private:
  void become_dense();
  void become_dense_if_shorter();

  std::size_t n_;
  bool dense_ = false;
  SparseList list_;
  std::vector<float> full_;
};

}  // namespace shoal
