// A part of a shard's gradient as it is pushed: some of its elements, the others are 0. Li et al.,
// OSDI 2014, section 3.5.1: a list of keys that both sides know is not sent again, and values are
// compressed.
//
//   head    form, how many elements, number of their list of keys, bytes of the body
//   body    listed: keys, then values; known: values, of the keys of an earlier list; whole: as
//           many values as the shard has. Compressed (zstd, lossless) where that is less
//
// Cost: 4 words and two for each element; one where the keys are known, and never more than the
//   whole shard has.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "ps/shard_map.h"

namespace shoal {

// Which elements of a shard, ascending.
struct Keys {
  std::uint32_t number = 0;  // that the list was sent under; 0: none was
  std::vector<std::uint32_t> at;
};

inline constexpr std::uint64_t kPartHeadWords = 4;
// Bytes of a part of so many elements, at most.
Bytes part_bytes(std::uint64_t elements, bool known);

struct PartForm {
  bool known = false;  // the receiver has the keys
  bool compress = false;
};
// `values`: those of the keys.
std::vector<std::uint32_t> pack_part(const ShardCut& cut, const Keys& keys,
                                     std::span<const float> values, PartForm form);

// What was packed. Throws Corrupt when it is no part of that shard.
class PushedPart {
 public:
  // `last`: the list that came last from the same worker; a new one replaces it. It, and the words,
  // outlive this.
  PushedPart(const ShardCut& cut, std::span<const std::uint32_t> words, Keys& last);

  // False: the keys went to somebody else, and there is nothing to form.
  bool has_keys() const { return whole_ || keys_ != nullptr; }
  // The gradient of the elements [from, to) of the shard.
  void form(std::size_t from, std::size_t to, std::span<float> g) const;

 private:
  bool whole_ = false;
  const Keys* keys_ = nullptr;
  std::vector<std::uint32_t> unpacked_;
  std::span<const std::uint32_t> values_{};  // of floats, the bits
};

}  // namespace shoal
