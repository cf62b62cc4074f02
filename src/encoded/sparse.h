// Lists of places and values, as SparCML sums them: Renggli, Ashkboos, Aghagolzadeh, Alistarh,
// Hoefler, "SparCML: high-performance sparse communication for machine learning", SC 2019,
// arXiv:1802.08021.
//
//   a list has c bytes a place and v a value; a full range v an element:
//   more than N v/(v+c) values are shorter as a full range
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "codec/codec.h"
#include "runtime/buffer.h"

namespace shoal {

// Of n elements, as a message: a list, or the full range where that is shorter.
class SparseSum {
 public:
  explicit SparseSum(Elements n) : n_(n.value()) {}  // nothing yet
  // What of the range is not zero. REQUIRES: there is nothing yet.
  void take(std::span<const float> range);
  // Adds what a message holds. Corrupt for one that is none of n elements.
  void add(ConstBuf message);

  bool dense() const { return dense_; }
  Bytes size() const;
  void write(MutBuf out) const;  // size() bytes
  void write(std::span<float> range) const;
  static Bytes most(Elements n);
  // Of so many values that are not zero.
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
