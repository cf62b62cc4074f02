// Lists whose positions persist, summed as in Kylix: positions are sent once, then only values.
// Zhao & Canny, "Kylix: a sparse allreduce for commodity clusters", ICPP 2014.
//
//   a butterfly of layers i, with d_i members a group (degrees need not be alike):
//     down   a member cuts its list into d_i parts by position, gives one to each of its group, and
//            adds up those of its own part; the next layer cuts that part again
//     up     the same groups, last layer first: sums of parts come together
//
// Sender and receiver remember the positions of their last message, and the merged list: the
// configuration. A message has only values while its positions are the remembered ones, which a
// hash checks; otherwise it has positions and values, as in the paper's form for changing patterns.
// So receivers notice a change in the same round of messages, and forward it only where a merged
// list changed, without questions. Zero elements remain in a list as long as at least half of it is
// nonzero.
//
// Cost for k values per member and U in the sum, without heads of 16 bytes; v = 4 bytes a value,
// c = 4 a position, or a bit for each element if these are shorter, or nothing for full lists:
//   equal positions      2 (P-1)/P v k;  while configuring (v + c) instead of v
//   disjoint positions   down v k sum_i (d_i - 1)/d_i, up v (P-1)/P U, U = P k;  likewise
// in 2 sum_i (d_i - 1) messages. The lists of sparse.h, for comparison: log2 P (v + c) k to
// (P - 1) (v + c) k. State: the positions of all messages of a step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/types.h"
#include "collective/group.h"
#include "runtime/buffer.h"

namespace shoal {

// Places of a range, from `begin` to before `end`.
struct KylixPart {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  KylixPart child(std::uint64_t i, std::uint64_t of) const {
    const std::uint64_t n = end - begin;
    return {static_cast<std::uint32_t>(begin + n * i / of),
            static_cast<std::uint32_t>(begin + n * (i + 1) / of)};
  }
};

// Places by rising order.
struct KylixPlaces {
  std::vector<std::uint32_t> at;
  std::uint64_t hash = 0;
};
using KylixPattern = std::shared_ptr<const KylixPlaces>;  // never null where a list has it

struct KylixList {
  KylixPattern pattern;
  std::vector<float> value;  // one for each position
};

// The remembered pattern if it has these positions; otherwise remembers them.
KylixPattern remember(KylixPattern& remembered, std::span<const std::uint32_t> places);

// The nonzero elements of a range, with the remembered positions if enough of these are nonzero.
KylixList kylix_list(std::span<const float> range, KylixPattern& remembered);

// The message of a list within a part: head, values, and positions unless they are remembered.
Bytes kylix_size(std::uint64_t values, KylixPart part, bool places);
// REQUIRES: out has kylix_size bytes.
void write_kylix(std::span<const float> values, const KylixPlaces& pattern, KylixPart part,
                 bool places, MutBuf out);
// Corrupt for a malformed list, and for one without positions if these are not remembered.
KylixList read_kylix(ConstBuf message, KylixPart part, KylixPattern& remembered);

// Sums lists, and keeps the positions of each list in the sum.
class KylixMerge {
 public:
  // Adds neighbours first: (0 + 1) + (2 + 3), as partners at doubling distances would.
  // REQUIRES: their number is a power of two.
  KylixList sum(std::span<const KylixList> lists);

 private:
  void configure(std::span<const KylixList> lists);

  std::vector<KylixPattern> of_;
  KylixPattern merged_;
  std::vector<std::vector<std::uint32_t>> to_;
};

// Degrees of a butterfly of P members, the first layer's first. Large ones send fewer bytes, small
// ones fewer messages: as large as keeps a message of n elements, of which a part is not zero, at
// kKylixPacket, which a link of 1 Gbit/s carries in about its latency. REQUIRES: a power of two.
inline constexpr std::uint64_t kKylixPacket = 8192;
std::vector<std::uint64_t> kylix_degrees(std::uint64_t P, Elements n, double filled);

// The configuration of one range among one group.
struct KylixMemory {
  struct Layer {
    KylixPattern own, own_sum;            // the list that stays here, and its sum
    std::vector<KylixPattern> sent, got;  // down, by member
    std::vector<KylixPattern> gathered;   // up, by member
    KylixMerge merge;
  };
  std::vector<std::uint64_t> degrees;
  std::vector<Layer> layers;
  KylixPattern own;                  // of this member's gradient
  KylixPattern fold_sent, fold_got;  // to and from a member beyond the power of two
  KylixPattern sum_sent, sum_got;
  KylixMerge fold;
  bool configured = false;  // of a phantom: a step has gone before
};

// The configurations of all ranges. Drops those of an earlier view, and of other cuts.
class KylixMemories {
 public:
  KylixMemory& of(const Group& group, const Cut& range, std::vector<std::uint64_t> degrees);
  std::size_t size() const { return ranges_.size(); }

 private:
  struct Key {
    std::uint64_t members = 0;  // their hash
    Elements at, n;
    auto operator<=>(const Key&) const = default;
  };
  GroupId group_;
  Generation generation_;
  std::map<Key, KylixMemory> ranges_;
};

}  // namespace shoal
