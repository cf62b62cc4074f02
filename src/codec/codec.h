// Codec: how the numbers of a gradient become fewer bytes, and come back.
//
// A codec is stateless. The caller keeps the residual, the error of an encoding, which
// encode_with_residual returns. Adding it to the next gradient, as encode_carried does, is error
// feedback. Random draws depend on the DrawKey and the position of an element in its piece, never
// on the thread or the width of vectors: equal keys and values give equal bytes on every machine.
//
// Cost: a pass or two over the piece; each codec's file says what is written.
// Failure: NaN and infinity are refused with DataError, since no encoding would let others see them
// in time; bytes that do not encode this number of elements are Corrupt. Numbers are written as the
// machine has them, which must be little-endian, as for everything else that nodes send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace shoal {

// The key of the random draws of one encoding: equal keys, equal bytes.
struct DrawKey {
  Seed seed{};
  std::uint64_t a = 0;  // e.g. the step
  std::uint64_t b = 0;  // e.g. worker and piece
};

// The input of an encoding: a piece, that is a tensor or a part of one.
struct Source {
  std::span<const float> values;  // gradient and residual
  std::span<const float> latest;  // the gradient alone; equals values without error feedback
};

// Nonzero elements, by rising position.
struct SparseList {
  std::vector<std::uint32_t> at;
  std::vector<float> value;
};

class Codec {
 public:
  virtual ~Codec() = default;

  // The maximum of bytes for n elements.
  virtual std::size_t bound(std::size_t n) const = 0;
  // The expected number of bytes, for the cost model and phantoms: for normally distributed
  // elements, unless the codec's file says otherwise.
  virtual std::size_t expected(std::size_t n) const = 0;

  // Writes the encoded form to `out` and returns its size. NaN or infinity among the values:
  // DataError, with the position. REQUIRES: out.size() >= bound(n), n < 2^31, values and latest
  // have n elements.
  virtual std::size_t encode(const Source& source, std::span<std::byte> out,
                             const DrawKey& key) const = 0;

  // sum += scale * what was encoded. Bytes that do not encode sum.size() elements: Corrupt; then
  // part of `sum` may have changed, and nothing else.
  virtual void decode_add(std::span<const std::byte> in, std::span<float> sum,
                          float scale = 1) const = 0;

  // out = what was encoded; some codecs take fewer passes than decode_add.
  virtual void decode(std::span<const std::byte> in, std::span<float> out) const;

  // Encodes, and writes the error to `residual` (which may be the memory of source.values): values
  // - decoded, rounded once.
  virtual std::size_t encode_with_residual(const Source& source, std::span<float> residual,
                                           std::span<std::byte> out, const DrawKey& key) const;

  // The same for values = latest + carried; some codecs take fewer passes. REQUIRES: all have n
  // elements, and `residual` is the memory of neither.
  virtual std::size_t encode_carried(std::span<const float> latest, std::span<const float> carried,
                                     std::span<float> residual, std::span<std::byte> out,
                                     const DrawKey& key) const;

  // Decodes to a list: for exchanges that add up lists. REQUIRES: sparse().
  virtual bool sparse() const { return false; }
  virtual void decode_list(std::span<const std::byte> in, std::size_t n, SparseList& list) const;

  // Adds encoded forms of the same key without decoding them: into += from. REQUIRES: summable().
  // Forms that do not fit together: Corrupt.
  virtual bool summable() const { return false; }
  virtual void add_encoded(std::span<std::byte> into, std::span<const std::byte> from) const;

  // The mean over all keys of what is decoded is what was encoded.
  virtual bool unbiased() const { return false; }
};

}  // namespace shoal
