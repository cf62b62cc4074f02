#include "codec/encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace shoal {
namespace {

using testing::HasSubstr;

std::string refusal(const char* text) {
  try {
    parse_encoding(text);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST(Encoding, ItsTextFormIsReadBackAsItWas) {
  for (const char* text : {"fp32",
                           "fp16",
                           "bf16",
                           "fixed16:4",
                           "flexpoint",
                           "onebit",
                           "twobit:0.5",
                           "terngrad",
                           "qsgd:4",
                           "qsgd:4:elias",
                           "dorefa:4",
                           "strom:0.001",
                           "dryden:0.01",
                           "adacomp:500",
                           "topk:0.01",
                           "randomk:0.01",
                           "randomk:0.01:50",
                           "randomk:0.01:2+ef",
                           "dgc:0.001",
                           "powersgd:2",
                           "auto",
                           "topk:0.01+ef",
                           "onebit+ef",
                           "topk:0.01+ef+zstd",
                           "qsgd:4:elias+zstd",
                           "fp32+zstd",
                           "qsgd:23+ef"}) {
    const Encoding encoding = parse_encoding(text);
    EXPECT_EQ(to_string(encoding), text);
    EXPECT_EQ(parse_encoding(to_string(encoding)), encoding);
  }
}

TEST(Encoding, EveryMethodHasItsNameAndDefaults) {
  for_each_alternative<EncodingMethod>([](const auto& method) {
    const Encoding encoding = parse_encoding(method.kName);
    EXPECT_EQ(encoding.method, EncodingMethod(method));
    EXPECT_EQ(parse_encoding(to_string(encoding)), encoding) << to_string(encoding);
  });
  EXPECT_EQ(to_string(parse_encoding("topk")), "topk:0.01");
  EXPECT_EQ(to_string(parse_encoding("qsgd")), "qsgd:4");
}

TEST(Encoding, SomeAlwaysKeepTheResidual) {
  for (const char* text : {"twobit", "strom", "dryden", "adacomp", "powersgd"})
    EXPECT_TRUE(parse_encoding(text).feedback) << text;
  EXPECT_EQ(parse_encoding("strom:0.5+ef"), parse_encoding("strom:0.5"));
  EXPECT_FALSE(parse_encoding("onebit").feedback);
  EXPECT_TRUE(parse_encoding("onebit+zstd+ef").feedback);
}

TEST(Encoding, UnknownNamesAreToldTheNearest) {
  EXPECT_THAT(refusal("topq:0.01"), HasSubstr("'topk'"));
  EXPECT_THAT(refusal("onebits"), HasSubstr("'onebit'"));
  EXPECT_THAT(refusal(""), HasSubstr("not known"));
  EXPECT_THAT(refusal("topk+eff"), HasSubstr("+ef and +zstd"));
}

TEST(Encoding, ImpossibleSettingsAreRefusedWithTheRange) {
  EXPECT_THAT(refusal("topk:0"), HasSubstr("from 1e-06 to 1"));
  EXPECT_THAT(refusal("topk:1.5"), HasSubstr("from 1e-06 to 1"));
  EXPECT_THAT(refusal("topk:nan"), HasSubstr("from 1e-06 to 1"));
  EXPECT_THAT(refusal("topk:-0.1"), HasSubstr("from 1e-06 to 1"));
  EXPECT_THAT(refusal("topk:"), HasSubstr("from 1e-06 to 1"));
  EXPECT_THAT(refusal("dorefa:17"), HasSubstr("from 1 to 16"));
  EXPECT_THAT(refusal("dorefa:2.5"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("fixed16:16"), HasSubstr("from 1 to 15"));
  EXPECT_THAT(refusal("qsgd:0"), HasSubstr("from 1 to 32767"));
  EXPECT_THAT(refusal("qsgd::elias"), HasSubstr("from 1 to 32767"));
  EXPECT_THAT(refusal("strom:-1"), HasSubstr("threshold"));
  EXPECT_THAT(refusal("twobit:inf"), HasSubstr("threshold"));
  EXPECT_THAT(refusal("adacomp:1"), HasSubstr("from 2"));
  EXPECT_THAT(refusal("powersgd:0"), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(refusal("randomk:0.1:0"), HasSubstr("from 1 on"));
  EXPECT_THAT(refusal("randomk:0.1:x"), HasSubstr("from 1 on"));
  EXPECT_THAT(refusal("topk:0.1:4"), HasSubstr("one setting too many"));
  EXPECT_EQ(to_string(parse_encoding("randomk:0.1:1")), "randomk:0.1");
  EXPECT_THAT(refusal("fp16:3"), HasSubstr("takes no"));
  EXPECT_THAT(refusal("fp16:"), HasSubstr("takes no"));
}

TEST(Encoding, FeedbackIsRefusedWhereItMakesNoSense) {
  EXPECT_THAT(refusal("fp32+ef"), HasSubstr("has no error"));
  EXPECT_THAT(refusal("auto+ef"), HasSubstr("auto decides"));
  EXPECT_THAT(refusal("auto+zstd"), HasSubstr("auto decides"));
  EXPECT_THAT(refusal("powersgd:2+zstd"), HasSubstr("uncompressed"));
  EXPECT_THAT(refusal("dgc:0.01+ef"), HasSubstr("sums of momentum"));
  EXPECT_THAT(refusal("terngrad+ef"), HasSubstr("grow without bound"));
  EXPECT_THAT(refusal("dorefa:4+ef"), HasSubstr("grow without bound"));
  EXPECT_THAT(refusal("qsgd:22+ef"), HasSubstr("fewer than 23"));
  EXPECT_THAT(refusal("topk:0.1+ef+ef"), HasSubstr("twice"));
  EXPECT_THAT(refusal("topk:0.1+"), HasSubstr("needs ef or zstd"));
}

// An encoding's traits must describe what its codec does.
TEST(Encoding, TraitsAreThoseOfTheCodec) {
  for (const EncodingRow& row : encoding_rows()) {
    const Encoding encoding = parse_encoding(row.examples.usual);
    const EncodingTraits is = traits(encoding);
    EXPECT_EQ(to_string(encoding), row.examples.usual) << "defaults are written out";
    if (!has_codec(encoding)) {
      EXPECT_TRUE(is.of_whole_steps()) << row.form;
      EXPECT_FALSE(is.no_zstd.empty()) << row.form;
      continue;
    }
    const std::unique_ptr<Codec> codec = make_codec(encoding);
    EXPECT_EQ(is.lists, codec->sparse()) << row.form;
    EXPECT_TRUE(is.draws || is.exact || !codec->unbiased()) << row.form;
    EXPECT_TRUE(!is.needs_residual || is.no_residual.empty()) << row.form;
    EXPECT_GT(is.mix_rate, 0) << row.form;
    EXPECT_LE(is.mix_rate, 1) << row.form;
  }
}

TEST(Encoding, EveryExampleIsOneOfItsOwn) {
  for (const EncodingRow& row : encoding_rows()) {
    const EncodingExamples& e = row.examples;
    for (const std::string_view text : {e.usual, e.bench, e.models, e.swarm.text}) {
      if (text.empty()) continue;
      EXPECT_EQ(parse_encoding(text).method.index(), parse_encoding(e.usual).method.index())
          << text;
    }
    EXPECT_FALSE(row.help.empty());
    if (!e.models.empty()) {
      EXPECT_FALSE(parse_encoding(e.models).feedback) << e.models;
    }
    if (e.candidate) {
      EXPECT_TRUE(has_codec(parse_encoding(e.usual)));
    }
  }
}

TEST(Encoding, WarmUpOfDgcSendsMore) {
  const Encoding dgc = parse_encoding("dgc:0.001");
  EXPECT_EQ(to_string(at_epoch(dgc, 0.5)), "dgc:0.25");
  EXPECT_EQ(at_epoch(dgc, 4), dgc);
  EXPECT_EQ(at_epoch(parse_encoding("topk:0.01"), 0), parse_encoding("topk:0.01"));
}

}  // namespace
}  // namespace shoal
