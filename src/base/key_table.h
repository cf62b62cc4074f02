// A hash table of items that belong to others: no allocation for an item, O(1) removal.
//
// Items of one key stay in the order in which they were put in, and may leave by themselves, as
// those of a List: T derives from ListHook<Name>. What has few items needs no table, and has none.
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
  // False: there are few, and the caller goes through all of them.
  bool built() const { return buckets_ != nullptr; }
  // Those of this key, with some of others among them. REQUIRES: built.
  List<T, Name>& of(std::uint64_t key) { return buckets_[key & (size_ - 1)]; }
  // `key()` is asked for when there is a table.
  template <class Key>
  void put(T& item, Key key) {
    ++puts_;
    if (built()) of(key()).push_back(item);
  }
  // Whether as many were put in since it was built that it may be too small by now.
  bool worn() const { return puts_ >= std::max(size_, kFew); }
  // Anew, and empty, for `items`. REQUIRES: nothing is in it.
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
