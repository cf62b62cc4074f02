// libFuzzer: for any input a codec decodes it or throws Corrupt; decoded lists have rising indices
// and finite numbers, and equal the decoded sums. The first two bytes choose the codec and the
// number of elements, the rest is the message of a peer. Built with clang only.
//
//   build/clang/tests/codec_fuzz -max_total_time=60
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "codec/encoding.h"

namespace {

using namespace shoal;

void require(bool condition) {
  if (!condition) std::abort();
}

const std::vector<std::unique_ptr<Codec>>& codecs() {
  static const std::vector<std::unique_ptr<Codec>> all = [] {
    std::vector<std::unique_ptr<Codec>> made;
    for (const char* text :
         {"fp32",          "fp16",       "bf16",         "fixed16:4",        "flexpoint",
          "onebit",        "twobit:0.5", "terngrad",     "qsgd:1",           "qsgd:4",
          "qsgd:100",      "qsgd:1000",  "qsgd:4:elias", "qsgd:32767:elias", "dorefa:1",
          "dorefa:3",      "dorefa:8",   "dorefa:16",    "strom:2.5",        "dryden:0.01",
          "adacomp:50",    "topk:0.01",  "topk:0.3",     "randomk:0.01",     "randomk:0.3+ef",
          "topk:0.3+zstd", "fp32+zstd"})
      made.push_back(make_codec(parse_encoding(text)));
    for (const EncodingRow& row : encoding_rows())
      if (has_codec(parse_encoding(row.examples.usual)))
        made.push_back(make_codec(parse_encoding(row.examples.usual)));
    return made;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Codec& codec = *codecs()[data[0] % codecs().size()];
  // Small numbers of elements, and numbers around a block of 512.
  const std::size_t n = data[1] < 128 ? data[1] : 512 + data[1] - 192;
  const std::span in(reinterpret_cast<const std::byte*>(data) + 2, size - 2);
  // On the heap, with the exact size: the sanitizer finds a write outside.
  std::vector<float> sum(n);
  bool sound = true;
  try {
    codec.decode_add(in, sum, 0.5F);
  } catch (const Corrupt& error) {
    require(*error.what() != '\0');
    sound = false;
  }
  if (!codec.sparse()) return 0;
  SparseList list;
  try {
    codec.decode_list(in, n, list);
    require(sound && list.at.size() == list.value.size());
    for (std::size_t j = 0; j < list.at.size(); ++j) {
      require(list.at[j] < n && (j == 0 || list.at[j - 1] < list.at[j]));
      require(std::isfinite(list.value[j]) && sum[list.at[j]] == 0.5F * list.value[j]);
    }
  } catch (const Corrupt&) {
    require(!sound);
  }
  return 0;
}
