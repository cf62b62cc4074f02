// The form of a partial push: some elements of a shard's gradient, the others are 0. Li et al.,
// OSDI 2014, section 3.5.1: a list of keys that both sides know is not sent again, and values are
// compressed.
//
//   head    form, how many elements, number of their list of keys, bytes of the body
//   body    listed: keys, then values; known: values, of the keys of an earlier list; whole: as
//           many values as the shard has. Compressed (zstd, lossless) if that is shorter
//
// Cost: 4 words and two for each element; one if the keys are known, and never more than the whole
//   shard.
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
// The maximum size of a part with this number of elements.
Bytes part_bytes(std::uint64_t elements, bool known);

struct PartForm {
  bool known = false;  // the receiver has the keys
  bool compress = false;
};
// `values`: those of the keys.
std::vector<std::uint32_t> pack_part(const ShardCut& cut, const Keys& keys,
                                     std::span<const float> values, PartForm form);

// Reads a packed part. Throws Corrupt for a malformed part.
class PushedPart {
 public:
  // `last`: the last list of the same worker; a new one replaces it. `last` and the words outlive
  // this object.
  PushedPart(const ShardCut& cut, std::span<const std::uint32_t> words, Keys& last);

  // False: the keys were sent to another server, so the gradient cannot be formed.
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
