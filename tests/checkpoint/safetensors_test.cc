#include "checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/random.h"
#include "checkpoint/model_file.h"
#include "support/inline_env.h"
#include "support/tensor_entry.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// A file with this header, verbatim, and that many bytes of data.
std::string file_with(const std::string& json, std::size_t data) {
  std::string file;
  for (unsigned i = 0; i < 8; ++i) file += static_cast<char>(json.size() >> (8 * i) & 0xffU);
  return file + json + std::string(data, 'd');
}

std::string tensors_problem(const std::string& file) {
  try {
    parse_safetensors(bytes_of(file), "m.safetensors");
  } catch (const Corrupt& error) {
    return error.what();
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

// The format's description, followed by hand to the byte: 139 bytes of JSON, 5 spaces, 9 of data.
const std::string kGoldenData("\0\0\x80\x3f\0\0\0\xc0\x01", 9);
const std::string kGolden =
    std::string("\x90\0\0\0\0\0\0\0", 8) +
    R"({"__metadata__":{"by":"h\"and"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("é":{"dtype":"BOOL","shape":[],"data_offsets":[8,9]}})" +
    "     " + kGoldenData;

TEST(Safetensors, HeaderAndDataEqualAFileWrittenByHand) {
  const std::vector<TensorInfo> tensors = {{"b", Dtype::F32, {2}}, {"é", Dtype::Bool, {}}};
  EXPECT_EQ(safetensors_header(tensors, {{"by", "h\"and"}}) + kGoldenData, kGolden);
  EXPECT_EQ(safetensors_header({}, {}), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST(Safetensors, ReadsAFileWrittenByHand) {
  const SafetensorsView view = parse_safetensors(bytes_of(kGolden), "golden");
  EXPECT_THAT(view.metadata, testing::ElementsAre(std::pair("by", "h\"and")));
  ASSERT_EQ(view.tensors.size(), 2U);
  EXPECT_EQ(view.tensors[0].info, (TensorInfo{"b", Dtype::F32, {2}}));
  float b[2];
  ASSERT_EQ(view.find("b")->data.size(), sizeof b);
  std::memcpy(b, view.find("b")->data.data(), sizeof b);
  EXPECT_EQ(b[0], 1.0F);
  EXPECT_EQ(b[1], -2.0F);
  EXPECT_EQ(view.find("é")->data[0], std::byte{1});
  EXPECT_EQ(view.find("c"), nullptr);
}

TEST(Safetensors, AcceptsWhatOthersMayWrite) {
  EXPECT_EQ(tensors_problem(file_with("{}", 0)), "");
  // Names in another order than the data, spaces inside and at the end, tensors without elements.
  EXPECT_EQ(tensors_problem(
                file_with(R"({"b": {"shape": [0, 7], "data_offsets": [2, 2], "dtype": "F64"},)"
                          R"( "a": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}}     )",
                          2)),
            "");
}

TEST(Safetensors, EveryMalformedHeaderIsRefusedAndNamed) {
  const auto one = [](const std::string& fields) { return R"({"w":{)" + fields + "}}"; };
  const struct {
    std::string file;
    const char* says;
  } cases[] = {
      {"", "too short"},
      {"1234567", "too short"},
      {std::string(8, '\xff'), "claims a header of 18446744073709551615 bytes"},
      {std::string("\x01\0\0\0\0\0\0\0", 8), "claims a header of 1 bytes and has 8"},
      {file_with("", 0), "does not begin with a brace"},
      {file_with(" {}", 0), "does not begin with a brace"},
      {file_with("[]", 0), "does not begin with a brace"},
      {file_with("{}\n", 0), "other characters than spaces"},
      {file_with("{} {}", 0), "not JSON from its byte"},
      {file_with("{", 0), "not JSON"},
      {file_with("{\"\xff\":1}", 0), "not JSON"},
      {file_with(R"({"w":1})", 0), R"(tensor "w": it cannot be 1)"},
      {file_with(R"({"w":[]})", 0), "cannot be a list"},
      {file_with(R"({"w":null})", 0), "cannot be null"},
      {file_with(R"({"w":{}})", 0), "dtype is missing"},
      {file_with(one(R"("dtype":"F32","data_offsets":[0,4])"), 4), "shape is missing"},
      {file_with(one(R"("dtype":"F32","shape":[1])"), 4), "data_offsets is missing"},
      {file_with(one(R"("dtype":"F32","dtype":"F32")"), 4), "dtype is repeated"},
      {file_with(one(R"("dtype":"F32","more":1)"), 4), R"(the key "more")"},
      {file_with(one(R"("dtype":"U32","shape":[1],"data_offsets":[0,4])"), 4), R"(dtype "U32")"},
      {file_with(one(R"("dtype":4)"), 4), "dtype cannot be 4"},
      {file_with(one(R"("dtype":["F32"])"), 4), "dtype cannot be a list"},
      {file_with(one(R"("shape":[-1])"), 4), "shape cannot be -1"},
      {file_with(one(R"("shape":[1.5])"), 4), "shape cannot be 1.5"},
      {file_with(one(R"("shape":[[1]])"), 4), "shape cannot be a list"},
      {file_with(one(R"("shape":{"a":1})"), 4), "shape cannot be an object"},
      {file_with(one(R"("shape":"1")"), 4), R"(shape cannot be "1")"},
      {file_with(one(R"("shape":[18446744073709551615])"), 4), "too large"},
      {file_with(one(R"("data_offsets":[0])"), 4), "has 1 numbers instead of 2"},
      {file_with(one(R"("data_offsets":[0,4,8])"), 4), "has 3 numbers instead of 2"},
      {file_with(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), 4), "hole of 4 bytes"},
      {file_with(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), 4),
       "F32 [2] needs 8 bytes"},
      {file_with(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), 3),
       "only 3 bytes of data; it is cut off"},
      {file_with(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), 5),
       "1 bytes after the last tensor"},
      {file_with(one(R"("dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0])"), 0),
       "its shape is too large"},
      {file_with(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                 R"("x":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                 3),
       R"(tensor "x" at bytes 1 to 3: overlaps the tensor before it)"},
      {file_with(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                 R"("x":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                 3),
       "hole of 1 bytes"},
      {file_with(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                 R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                 2),
       R"(tensor "w": is repeated)"},
      {file_with(R"({"__metadata__":{"a":1}})", 0), "a cannot be 1"},
      {file_with(R"({"__metadata__":{"a":{}}})", 0), "a cannot be an object"},
      {file_with(R"({"__metadata__":[]})", 0), "cannot be a list"},
      {file_with(R"({"__metadata__":{"a":"1","a":"2"}})", 0), R"(the key "a" is repeated)"},
      {file_with(R"({"__metadata__":{},"__metadata__":{}})", 0), "is repeated"},
  };
  for (const auto& c : cases) {
    const std::string problem = tensors_problem(c.file);
    EXPECT_THAT(problem, AllOf(HasSubstr("m.safetensors"), HasSubstr(c.says))) << c.file;
  }
}

TEST(Safetensors, AnAbsurdHeaderCostsNothing) {
  std::string nested(1'000'000, '[');
  EXPECT_THAT(tensors_problem(file_with(R"({"w":)" + nested, 0)), HasSubstr("cannot be a list"));
  const std::string name(1'000'000, 'n');
  const std::string problem = tensors_problem(file_with(R"({")" + name + R"(":1})", 0));
  EXPECT_LT(problem.size(), 400U) << "the name is shortened";
}

TEST(Safetensors, NamesThatTheFormatCannotHoldAreRefused) {
  const auto header = [](std::string name) {
    const std::vector<TensorInfo> tensors = {{std::move(name), Dtype::F32, {}}};
    return safetensors_header(tensors, {});
  };
  EXPECT_THROW(header("__metadata__"), ConfigError);
  EXPECT_THROW(header("a\xff"), ConfigError);
  EXPECT_NO_THROW(header("line\nand \"quote\""));
}

TEST(Safetensors, FlippedCutAndAddedBytesAreReadOrRefusedAndNothingElse) {
  const std::vector<TensorInfo> tensors = {
      {"conv.weight", Dtype::F32, {2, 3}}, {"count", Dtype::I64, {}}, {"flag", Dtype::Bool, {3}}};
  const std::string file =
      safetensors_header(tensors, {{"step", "12"}}) + std::string(24 + 8 + 3, 'd');
  ASSERT_EQ(tensors_problem(file), "");
  for (std::size_t at = 0; at < file.size(); ++at)
    EXPECT_NE(tensors_problem(file.substr(0, at)), "") << "cut at " << at;
  Random random(Seed(1), Purpose::Test);
  std::size_t refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string changed = file;
    for (std::uint64_t n = random.between(1, 4); n > 0; --n) {
      const std::size_t at = random.below(changed.size());
      switch (random.below(4)) {
        case 0: changed[at] = static_cast<char>(changed[at] ^ (1U << random.below(8))); break;
        case 1: changed.erase(at, random.between(1, 8)); break;
        case 2: changed.insert(at, 1, "{}[],:\"0 9"[random.below(10)]); break;
        default: changed[at] = "{}[],:\"0 9"[random.below(10)]; break;
      }
      if (changed.empty()) break;
    }
    refused += tensors_problem(changed).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 3000U);
}

// ---- a model

Layout network(std::int64_t classes = 3, bool with_count = true) {
  TensorEntry conv = tensor("conv.weight", Section::Parameter, Dtype::F32, {2, 3, 2, 2});
  conv.strides = {12, 1, 6, 3};  // channels last
  std::vector<TensorEntry> tensors = {conv,
                                      tensor("bias", Section::Parameter, Dtype::F32, {classes}),
                                      tensor("norm.mean", Section::Buffer, Dtype::F32, {3}),
                                      tensor("none", Section::Buffer, Dtype::F32, {0, 4}),
                                      tensor("flag", Section::Side, Dtype::Bool, {3})};
  if (with_count) tensors.push_back(tensor("norm.count", Section::Side, Dtype::I64, {}));
  return Layout(tensors);
}

std::vector<float> state_of(const Layout& layout) {
  std::vector<float> state(layout.all().value());
  for (std::size_t i = 0; i < state.size(); ++i) state[i] = static_cast<float>(i);
  return state;
}

std::string file_of(const Layout& layout, const std::vector<float>& state) {
  InlineEnv env;
  const ModelFile file = run(model_file(env, layout, const_buf(std::span(state)), {{"step", "7"}}));
  std::string text;
  for (const ConstBuf& piece : file.pieces)
    text.append(reinterpret_cast<const char*>(piece.data), piece.size.value());
  return text;
}

std::string problem_loading(const Layout& layout, const std::string& file) {
  InlineEnv env;
  std::vector<float> state(layout.all().value(), -1.0F);
  const std::vector<float> before = state;
  try {
    run(load_model(env, layout, bytes_of(file), "m", mut_buf(std::span(state))));
  } catch (const DataError& error) {
    EXPECT_EQ(state, before) << "a model that does not fit changes nothing";
    return error.what();
  }
  return {};
}

TEST(ModelFile, IsReadAsItWasWritten) {
  const Layout layout = network();
  const std::vector<float> state = state_of(layout);
  const std::string file = file_of(layout, state);
  InlineEnv env;
  std::vector<float> again(state.size());
  run(load_model(env, layout, bytes_of(file), "m", mut_buf(std::span(again))));
  for (const TensorEntry& t : layout.tensors())
    EXPECT_EQ(std::memcmp(again.data() + t.at.value(), state.data() + t.at.value(),
                          count(t.shape) * size_of(t.dtype)),
              0)
        << t.name;
}

TEST(ModelFile, HoldsRowMajorTensorsAlignedAndByName) {
  const Layout layout = network();
  const std::string file = file_of(layout, state_of(layout));
  const SafetensorsView view = parse_safetensors(bytes_of(file), "m");
  std::vector<std::string> names;
  for (const SafeTensor& t : view.tensors) {
    names.push_back(t.info.name);
    EXPECT_EQ((t.data.data() - bytes_of(file).data()) % size_of(t.info.dtype), 0U) << t.info.name;
  }
  EXPECT_THAT(names, testing::ElementsAre("norm.count", "bias", "conv.weight", "none", "norm.mean",
                                          "flag"));
  EXPECT_THAT(view.metadata, testing::ElementsAre(std::pair("step", "7")));
  float conv[24];
  std::memcpy(conv, view.find("conv.weight")->data.data(), sizeof conv);
  std::size_t i = 0;
  for (int o = 0; o < 2; ++o)
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 2; ++x)
          EXPECT_EQ(conv[i++], static_cast<float>(12 * o + c + 6 * y + 3 * x));
}

TEST(ModelFile, OnlyStridedTensorsAreCopied) {
  const Layout layout = network();
  const std::vector<float> state = state_of(layout);
  InlineEnv env;
  const ConstBuf arena = const_buf(std::span(state));
  const ModelFile file = run(model_file(env, layout, arena, {}));
  std::size_t copied = 0;
  for (const ConstBuf& piece : file.pieces) copied += overlap(piece, arena) ? 0 : 1;
  EXPECT_EQ(copied, 2U) << "the header and conv.weight";
  ConstBuf phantom;
  phantom.size = arena.size;
  const ModelFile without = run(model_file(env, layout, phantom, {}));
  EXPECT_EQ(without.pieces.size(), file.pieces.size());
  EXPECT_TRUE(without.pieces[1].phantom());
}

TEST(ModelFile, LongTensorsOfAnyStridesMoveInSlices) {
  TensorEntry t = tensor("w", Section::Parameter, Dtype::F32, {300, 500});
  t.strides = {1, 300};
  const Layout layout({t, tensor("v", Section::Parameter, Dtype::F32, {150'001})});
  const std::vector<float> state = state_of(layout);
  const std::string file = file_of(layout, state);
  std::vector<float> again(state.size());
  InlineEnv env;
  run(load_model(env, layout, bytes_of(file), "m", mut_buf(std::span(again))));
  EXPECT_EQ(again, state);
  float at_1_0 = 0;
  const SafetensorsView view = parse_safetensors(bytes_of(file), "m");
  std::memcpy(&at_1_0, view.find("w")->data.data() + 500 * sizeof(float), sizeof at_1_0);
  EXPECT_EQ(at_1_0, 1.0F);
}

TEST(ModelFile, OfAnotherModelIsRefusedWithTensorAndBothShapes) {
  const Layout layout = network();
  const std::string file = file_of(layout, state_of(layout));
  EXPECT_EQ(problem_loading(layout, file), "");
  EXPECT_THAT(problem_loading(network(4), file),
              AllOf(HasSubstr("checkpoint of another model"), HasSubstr("\"bias\""),
                    HasSubstr("F32 [3] there and F32 [4] here")));
  EXPECT_THAT(problem_loading(network(3, false), file),
              HasSubstr("\"norm.count\" is I64 [] there and missing here"));
  const Layout smaller = network(3, false);
  EXPECT_THAT(problem_loading(layout, file_of(smaller, state_of(smaller))),
              HasSubstr("\"norm.count\" is missing there and I64 [] here"));
}

}  // namespace
}  // namespace shoal
