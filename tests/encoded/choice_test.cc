// Encodings are chosen by their predicted time; the plain form wins if it is as fast.
#include "encoded/choice.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

// Codecs as fast as memory, and a link of so many bytes a second.
EncodingCosts costs_of(double bytes_per_s, std::uint64_t members, std::uint64_t hosts) {
  EncodingCosts costs;
  costs.shape = {members, hosts};
  costs.links.inside = {2e-6, 1.0 / 8e9, 1e-6};
  costs.links.between = {2e-5, 1.0 / bytes_per_s, 2e-6};
  costs.links.gamma = 1.0 / 1e10;
  for (const char* const name : {"fp16", "onebit+ef", "topk:0.01+ef"})
    costs.codecs.push_back({parse_encoding(name), 1e-9, 0.5e-9});
  return costs;
}

constexpr Elements kLayer{2048 * 2048};

TEST(EncodingChoice, IsPlainOnOneHostAndWhereTheLinkIsFaster) {
  EXPECT_EQ(choose_encoding(costs_of(125e6, 2, 1), kLayer), Encoding());
  EXPECT_EQ(choose_encoding(costs_of(25e9, 2, 2), kLayer), Encoding());
  EXPECT_EQ(choose_encoding(costs_of(25e9, 8, 8), kLayer), Encoding());
}

TEST(EncodingChoice, EncodesBehindASlowLinkWhatIsLongEnough) {
  for (const std::uint64_t members : {2U, 8U}) {
    const EncodingCosts slow = costs_of(125e6, members, members);
    EXPECT_EQ(to_string(choose_encoding(slow, kLayer)), "topk:0.01+ef") << members;
    EXPECT_LT(predict_encoded(slow, slow.codecs[2], kLayer), 0.2 * predict_plain(slow, kLayer));
    // A bias: only two latencies count.
    EXPECT_EQ(choose_encoding(slow, Elements(16)), Encoding()) << members;
  }
}

TEST(EncodingChoice, FollowsTheSpeedOfTheCodecs) {
  EncodingCosts costs = costs_of(125e6, 2, 2);
  costs.codecs[2].encode = 1e-7;  // lists are slow here
  EXPECT_EQ(to_string(choose_encoding(costs, kLayer)), "onebit+ef");
  for (CodecSpeed& codec : costs.codecs) codec.encode = 1e-6;
  EXPECT_EQ(choose_encoding(costs, kLayer), Encoding());
}

// A regression: a mean over a short sample charged long tensors for finding a threshold.
TEST(EncodingChoice, WhatACodecTakesOnceCountsForShortTensorsAlone) {
  EncodingCosts costs = costs_of(125e6, 2, 2);
  costs.codecs[2].once = 2e-4;
  EXPECT_EQ(to_string(choose_encoding(costs, kLayer)), "topk:0.01+ef");
  EXPECT_EQ(to_string(choose_encoding(costs, Elements(20'000))), "onebit+ef");
}

// A regression: three short tensors of six were encoded to save 0.01 ms of 3.76, and the step took
// a third longer.
TEST(EncodingChoice, IsPlainAsAWholeWhereLittleIsSaved) {
  EncodingCosts costs = costs_of(3e9, 2, 2);
  costs.codecs[1].encode = costs.codecs[1].decode = 1e-12;
  costs.codecs[1].once = 1e-7;
  for (CodecSpeed& codec : costs.codecs)
    if (&codec != &costs.codecs[1]) codec.encode = 1e-6;
  const std::vector<Cut> both = {{Elements(0), kLayer}, {kLayer, Elements(20'000)}};
  EXPECT_EQ(choose_encodings(costs, both), std::vector<Encoding>(2, parse_encoding("onebit+ef")));
  // As expensive per element as plain: only a latency can be saved.
  costs.codecs[1].encode = predict_plain(costs, kLayer) / static_cast<double>(kLayer.value());
  costs.codecs[1].once = 0;
  const bool short_one = choose_encoding(costs, Elements(20'000)) != Encoding();
  const bool long_one = choose_encoding(costs, kLayer) != Encoding();
  EXPECT_TRUE(short_one && !long_one) << short_one << long_one;
  EXPECT_EQ(choose_encodings(costs, both), std::vector<Encoding>(2));
}

TEST(EncodingChoice, IsExplainedWithItsNumbers) {
  const EncodingCosts slow = costs_of(125e6, 2, 2);
  const std::vector<Cut> pieces = {{Elements(0), kLayer}, {kLayer, Elements(16)}};
  const std::string text = explain(slow, pieces);
  EXPECT_NE(text.find("topk:0.01+ef for 1 tensor of 4194304 elements"), std::string::npos) << text;
  EXPECT_NE(text.find("fp32 for 1 tensor of 16 elements"), std::string::npos) << text;
  EXPECT_NE(text.find("125 MB/s"), std::string::npos) << text;
}

}  // namespace
}  // namespace shoal
