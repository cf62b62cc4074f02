// torch reads our model files through an independent reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/model_file.h"
#include "runtime/live/posix_files.h"
#include "support/inline_env.h"
#include "support/python.h"
#include "support/temporary_folder.h"

namespace shoal {
namespace {

TEST(SafetensorsLive, TorchReadsWhatWeWrite) {
  TensorEntry conv;
  conv.name = "conv.weight";
  conv.shape = {1, 2, 1, 2};
  conv.strides = {4, 1, 4, 2};  // channels last
  TensorEntry mean;
  mean.name = "norm.mean é";
  mean.section = Section::Buffer;
  mean.shape = {2};
  mean.strides = {1};
  TensorEntry flags;
  flags.name = "flags";
  flags.section = Section::Side;
  flags.dtype = Dtype::Bool;
  flags.shape = {3};
  flags.strides = {1};
  TensorEntry count;
  count.name = "count";
  count.section = Section::Side;
  count.dtype = Dtype::I64;
  const Layout layout({conv, mean, flags, count});
  std::vector<float> state(layout.all().value());
  for (std::size_t i = 0; i < 6; ++i) state[i] = 0.5F * static_cast<float>(i);
  const std::uint8_t bits[3] = {1, 0, 1};
  const std::int64_t many = -7'000'000'000;
  std::memcpy(state.data() + layout.find("flags")->at.value(), bits, sizeof bits);
  std::memcpy(state.data() + layout.find("count")->at.value(), &many, sizeof many);

  TemporaryFolder folder;
  InlineEnv env;
  PosixFiles files(env, folder.path());
  const ModelFile file =
      run(model_file(env, layout, const_buf(std::span(state)), {{"step", "12"}}));
  for (const ConstBuf& piece : file.pieces) run(files.append(kModelFile, piece));

  const PythonResult read = run_python(READ_SAFETENSORS, (folder.path() / kModelFile).string());
  EXPECT_EQ(read.status, 0);
  EXPECT_EQ(read.output,
            "{\"step\": \"12\"}\n"
            "conv.weight float32 [[[[0.0, 1.0]], [[0.5, 1.5]]]]\n"
            "count int64 -7000000000\n"
            "flags bool [True, False, True]\n"
            "norm.mean é float32 [2.0, 2.5]\n");
}

}  // namespace
}  // namespace shoal
