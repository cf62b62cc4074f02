// Codec: how the numbers of a gradient become fewer bytes, and come back.
//
// A codec is stateless. The caller keeps the residual, which is what an encoding leaves out:
// encode_with_residual gives it; to add it to the next gradient, as encode_carried does, is error
// feedback. What is drawn depends on the DrawKey and the place of an element in its piece, never on
// the thread or the width of vectors: equal keys and values give equal bytes on every machine.
//
// Cost: a pass or two over the piece; each codec's file says what is written.
// Failure: NaN and infinity are refused with DataError, since no encoding would let others see them
// in time; bytes that are no encoding of so many elements are Corrupt. Numbers are written as the
// machine has them, which must be little-endian, as for everything else that nodes send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace shoal {

// What the draws of one encoding are keyed by: equal keys, equal bytes.
struct DrawKey {
  Seed seed{};
  std::uint64_t a = 0;  // e.g. the step
  std::uint64_t b = 0;  // e.g. who, and which piece
};

// What is to be sent of one piece: a tensor, or a part of one.
struct Source {
  std::span<const float> values;  // gradient and residual
  std::span<const float> latest;  // the gradient alone; equals values without error feedback
};

// Elements that are not zero, by rising place.
struct SparseList {
  std::vector<std::uint32_t> at;
  std::vector<float> value;
};

class Codec {
 public:
  virtual ~Codec() = default;

  // The most bytes that n elements become.
  virtual std::size_t bound(std::size_t n) const = 0;
  // About how many, for the cost model and phantoms: of elements from a normal distribution, unless
  // the codec's file says otherwise.
  virtual std::size_t expected(std::size_t n) const = 0;

  // Writes the encoded form to `out` and returns its size. NaN or infinity among the values:
  // DataError, with the place. REQUIRES: out.size() >= bound(n), n < 2^31, values and latest have n
  // elements.
  virtual std::size_t encode(const Source& source, std::span<std::byte> out,
                             const DrawKey& key) const = 0;

  // sum += scale * what was encoded. Bytes that are no encoding of sum.size() elements: Corrupt;
  // `sum` may be partly changed then, nothing outside is.
  virtual void decode_add(std::span<const std::byte> in, std::span<float> sum,
                          float scale = 1) const = 0;

  // The same in place of what was there, in fewer passes where the codec has a way.
  virtual void decode(std::span<const std::byte> in, std::span<float> out) const;

  // Encodes, and leaves in `residual` (which may be the memory of source.values) what the encoded
  // form does not hold: values - decoded, rounded once.
  virtual std::size_t encode_with_residual(const Source& source, std::span<float> residual,
                                           std::span<std::byte> out, const DrawKey& key) const;

  // The same for values = latest + carried, in fewer passes where the codec has a way. REQUIRES:
  // all have n elements, and `residual` is the memory of neither.
  virtual std::size_t encode_carried(std::span<const float> latest, std::span<const float> carried,
                                     std::span<float> residual, std::span<std::byte> out,
                                     const DrawKey& key) const;

  // Decodes to a list: for exchanges that add up lists. REQUIRES: sparse().
  virtual bool sparse() const { return false; }
  virtual void decode_list(std::span<const std::byte> in, std::size_t n, SparseList& list) const;

  // Encoded forms of the same key can be added up as they are: into += from. REQUIRES: summable().
  // Forms that do not fit together: Corrupt.
  virtual bool summable() const { return false; }
  virtual void add_encoded(std::span<std::byte> into, std::span<const std::byte> from) const;

  // The mean over all keys of what is decoded is what was encoded.
  virtual bool unbiased() const { return false; }
};

}  // namespace shoal
