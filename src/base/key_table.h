// A hash table of items owned by others: no allocation per item, O(1) removal.
//
// Items with one key stay in insertion order, and may remove themselves like those of a List: T
// derives from ListHook<Name>. For few items the table is not built.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/list.h"

namespace shoal {

template <class T, class Name>
class KeyTable {
 public:
  // False: there are few items, and the caller visits all of them.
  bool built() const { return buckets_ != nullptr; }
  // The items of this key, mixed with some of others. REQUIRES: built.
  List<T, Name>& of(std::uint64_t key) { return buckets_[key & (size_ - 1)]; }
  // `key()` is called only if the table is built.
  template <class Key>
  void put(T& item, Key key) {
    ++puts_;
    if (built()) of(key()).push_back(item);
  }
  // Whether so many items were added since it was built that it may be too small.
  bool worn() const { return puts_ >= std::max(size_, kFew); }
  // Rebuilds the table, empty, for `items`. REQUIRES: it is empty.
  void build(std::size_t items) {
    size_ = items < kFew / 2 ? 0 : std::bit_ceil(items * 2);
    buckets_ = size_ == 0 ? nullptr : std::make_unique<List<T, Name>[]>(size_);
    puts_ = 0;
  }

 private:
  static constexpr std::size_t kFew = 32;
  std::unique_ptr<List<T, Name>[]> buckets_;  // a power of two
  std::size_t size_ = 0;
  std::size_t puts_ = 0;  // since it was built
};

}  // namespace shoal
