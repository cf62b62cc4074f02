// Private to src/codec: encodings that send for a few elements their sign only, and two numbers,
// one for each sign, that stand for all of them. Which elements, and which numbers, is the codec's.
//
// Written: the two numbers, how many elements, gaps with signs: 1 byte for most elements sent.
#pragma once

#include "codec/sparse.h"

namespace shoal {

class Signs : public Codec {
 public:
  // No gap takes more bytes than it has elements.
  std::size_t bound(std::size_t n) const final { return 12 + n; }
  std::size_t expected(std::size_t n) const final;
  bool sparse() const final { return true; }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey& key) const final;
  std::size_t encode_with_residual(const Source& source, std::span<float> residual,
                                   std::span<std::byte> out, const DrawKey& key) const final;
  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const final;
  void decode_list(std::span<const std::byte> in, std::size_t n, SparseList& list) const final;

 protected:
  struct Choice {
    Places at{};
    float plus = 0;   // what a positive element is sent as
    float minus = 0;  // a negative one
  };
  Signs(const char* name, double part, Width width) : width_(width), name_(name), part_(part) {}
  virtual Choice choose(const Source& source) const = 0;

  Width width_;

 private:
  Choice write(const Source& source, std::span<std::byte> out, std::size_t& size) const;
  template <class F>
  void each(std::span<const std::byte> in, std::size_t n, const F& f) const;

  const char* name_;
  double part_;  // about how many are sent
};

}  // namespace shoal
