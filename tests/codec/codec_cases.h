// Shared by the tests of codecs: every encoding that has a codec, and numbers to encode.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/wide.h"
#include "codec/encoding.h"

namespace shoal {

inline const std::vector<std::string>& all_codecs() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> some = {
        "fp32",       "fp16",           "bf16",           "fixed16:4",        "flexpoint",
        "onebit",     "twobit:0.5",     "terngrad",       "qsgd:1",           "qsgd:4",
        "qsgd:100",   "qsgd:1000",      "qsgd:4:elias",   "qsgd:32767:elias", "dorefa:1",
        "dorefa:3",   "dorefa:8",       "dorefa:16",      "strom:2.5",        "dryden:0.01",
        "adacomp:50", "topk:0.01",      "topk:0.3",       "randomk:0.01",     "randomk:0.01+ef",
        "dgc:0.001",  "topk:0.01+zstd", "onebit+ef+zstd", "fp32+zstd"};
    // And those of the list that are none of these.
    for (const EncodingRow& row : encoding_rows()) {
      const std::string text(row.examples.usual);
      const std::string name = text.substr(0, text.find_first_of(":+"));
      const bool there = std::ranges::any_of(some, [&](const std::string& one) {
        return one.substr(0, one.find_first_of(":+")) == name;
      });
      if (!there && has_codec(parse_encoding(text))) some.push_back(text);
    }
    return some;
  }();
  return all;
}

inline std::unique_ptr<Codec> codec_of(const std::string& text, Width width = widest()) {
  return make_codec(parse_encoding(text), width);
}

inline std::vector<float> normal_numbers(std::size_t n, double deviation = 1,
                                         std::uint64_t seed = 1) {
  Random random(Seed(seed), Purpose::Test);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(deviation * random.normal());
  return x;
}

inline std::vector<std::byte> encoded(const Codec& codec, std::span<const float> values,
                                      const DrawKey& key = {}) {
  std::vector<std::byte> bytes(codec.bound(values.size()));
  bytes.resize(codec.encode({values, values}, bytes, key));
  return bytes;
}

inline std::vector<float> decoded(const Codec& codec, std::span<const std::byte> bytes,
                                  std::size_t n) {
  std::vector<float> sum(n);
  codec.decode_add(bytes, sum);
  return sum;
}

inline std::vector<float> there_and_back(const Codec& codec, std::span<const float> values,
                                         const DrawKey& key = {}) {
  return decoded(codec, encoded(codec, values, key), values.size());
}

}  // namespace shoal
