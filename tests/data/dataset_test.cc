// Specs, text, and datasets that need no files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>

#include "support/dataset_bytes.h"

namespace shoal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::string& spec, const MemoryFiles& files = {}) {
  try {
    open_dataset(spec, {}, files.opener());
  } catch (const ConfigError& e) {
    return e.what();
  } catch (const DataError& e) {
    return std::string("data: ") + e.what();
  }
  return "opened";
}

Batch fill(const BatchSource& source, const std::vector<SampleId>& samples,
           std::uint64_t epoch = 0) {
  Batch batch;
  source.fill(epoch, samples, batch);
  return batch;
}

std::vector<SampleId> first(std::uint64_t n) {
  std::vector<SampleId> samples(n);
  std::iota(samples.begin(), samples.end(), SampleId{0});
  return samples;
}

Dataset synthetic(const std::string& kind, Seed seed = Seed(1)) {
  DatasetOptions options;
  options.seed = seed;
  return open_dataset("synthetic:" + kind, options, MemoryFiles().opener());
}

TEST(DatasetForms, ListEveryFormat) {
  EXPECT_EQ(dataset_forms(),
            "fashion-mnist, idx:DIR, cifar10:DIR, csv:FILE[:label=COLUMN], libsvm:FILE, text:FILE, "
            "synthetic:KIND[,key=value...]");
}

TEST(Spec, WhatIsUnknownIsAnsweredWithTheNearestKnown) {
  EXPECT_EQ(refusal("fashion-mnits"),
            "'fashion-mnits' is not a dataset. Did you mean 'fashion-mnist'?");
  EXPECT_EQ(refusal("zzz"),
            "'zzz' is not a dataset. Known: fashion-mnist, idx, cifar10, csv, libsvm, text, "
            "synthetic.");
  EXPECT_EQ(refusal("synthetic:blob"),
            "'blob' is not a kind of synthetic data. Did you mean 'blobs'?");
  EXPECT_EQ(refusal("synthetic:blobs,clases=3"),
            "synthetic:blobs has no option 'clases'. Did you mean 'classes'?");
  EXPECT_EQ(refusal(std::string("text:a\0b", 8)), "dataset 'text:a\\x00b' has a zero byte in it");
  EXPECT_EQ(refusal("idx"), "dataset idx is written idx:DIR, not 'idx'");
  EXPECT_EQ(refusal("fashion-mnist:/x"),
            "dataset fashion-mnist is written fashion-mnist, not 'fashion-mnist:/x'");
}

TEST(Spec, ValuesThatCannotBeMeantAreRefused) {
  EXPECT_EQ(refusal("synthetic:blobs,n=0"),
            "synthetic:blobs: n is '0'; it must be an integer in 1 .. 1099511627776");
  EXPECT_EQ(refusal("synthetic:blobs,n=-1"),
            "synthetic:blobs: n is '-1'; it must be an integer in 1 .. 1099511627776");
  EXPECT_EQ(refusal("synthetic:blobs,noise=nan"),
            "synthetic:blobs: noise is 'nan'; it must be a number in 0 .. 1000000");
  EXPECT_EQ(refusal("synthetic:blobs,n"), "synthetic:blobs: 'n' does not have the form key=value");
  EXPECT_EQ(refusal("synthetic:blobs,n=1,n=2"), "synthetic:blobs: 'n' is given twice");
  EXPECT_EQ(refusal("synthetic:blobs,features=10000000,classes=60000"),
            "synthetic: features x classes = 10000000 x 60000 is too large for memory");
}

TEST(Spec, RowsOfNumbersCannotBeAugmented) {
  DatasetOptions options;
  options.augment = true;
  EXPECT_THROW(open_dataset("synthetic:blobs", options, MemoryFiles().opener()), ConfigError);
}

TEST(Text, AWindowsTargetIsTheCharacterThatFollows) {
  MemoryFiles files;
  files["a:b.txt"] = "abcabcabcabcabcabcab";  // 18 to train, 2 to test
  const Dataset dataset = open_dataset("text:a:b.txt:length=1", {}, files.opener());
  EXPECT_EQ(dataset.train->size(), 17U);
  EXPECT_EQ(dataset.test->size(), 1U);
  DatasetOptions four;
  four.length = 4;
  four.test_fraction = 0.5;
  const Dataset windows = open_dataset("text:a:b.txt", four, files.opener());
  EXPECT_EQ(windows.train->shape(), (SampleShape{InputKind::Tokens, {4}, TargetKind::Next, 3}));
  EXPECT_EQ(windows.train->size(), 2U);  // of 10 characters, the last of which is only a target
  const Batch batch = fill(*windows.train, {1, 0});
  EXPECT_THAT(batch.tokens, ElementsAre(1, 2, 0, 1, 0, 1, 2, 0));
  EXPECT_THAT(batch.labels, ElementsAre(2, 0, 1, 2, 1, 2, 0, 1));
  EXPECT_THAT(fill(*windows.test, {0}).tokens, ElementsAre(1, 2, 0, 1));  // from character 10 on
  EXPECT_THAT(windows.class_names, ElementsAre("a", "b", "c"));
}

TEST(Text, ShiftedWindowsStayInsideTheTrainingPart) {
  MemoryFiles files;
  std::string& text = files["t"];
  for (int i = 0; i < 250; ++i) text += static_cast<char>(i);
  DatasetOptions options;
  options.augment = true;
  options.length = 10;
  const Dataset dataset = open_dataset("text:t", options, files.opener());
  std::set<std::int64_t> begins;
  for (std::uint64_t epoch = 0; epoch < 100; ++epoch) {
    for (const std::uint64_t sample : {std::uint64_t{3}, dataset.train->size() - 1}) {
      const Batch batch = fill(*dataset.train, {sample}, epoch);
      const auto at = static_cast<std::int64_t>(sample * 10);
      ASSERT_GE(batch.tokens[0], at);
      ASSERT_LT(batch.tokens[0], at + 10);
      ASSERT_LT(batch.labels[9], 225);
      for (int k = 0; k < 10; ++k) ASSERT_EQ(batch.labels[k], batch.tokens[0] + k + 1);
      if (sample == 3) begins.insert(batch.tokens[0]);
    }
  }
  EXPECT_EQ(begins.size(), 10U);
}

TEST(Text, TooShortOrTooEvenIsRefused) {
  MemoryFiles files;
  files["t"] = std::string(100, 'x') + "y";
  EXPECT_EQ(refusal("text:t", files),
            "data: t has 101 bytes: too few for windows of 64, to train and to test. For shorter "
            "windows: "
            "text:FILE:length=N");
  files["t"] = std::string(2000, 'x');
  EXPECT_EQ(refusal("text:t", files), "data: t repeats one character: nothing to learn");
  EXPECT_THAT(refusal("text:t:length=0", files), HasSubstr("length is '0'"));
}

const std::vector<std::string> kKinds{"blobs",   "spirals",          "images,size=9,channels=2",
                                      "teacher", "teacher,values=2", "sparse",
                                      "text"};

TEST(Synthetic, ASampleDependsOnTheSeedAndItsNumberAlone) {
  for (const std::string& kind : kKinds) {
    const Dataset one = synthetic(kind), same = synthetic(kind), other = synthetic(kind, Seed(2));
    Batch a = fill(*one.train, {17, 3, 9999}), b = fill(*same.train, {17, 3, 9999}), c;
    std::thread([&] { c = fill(*one.train, {17, 3, 9999}, 5); }).join();
    for (const Batch* batch : {&b, &c}) {
      EXPECT_EQ(a.dense, batch->dense) << kind;
      EXPECT_EQ(a.tokens, batch->tokens) << kind;
      EXPECT_EQ(a.indices, batch->indices) << kind;
      EXPECT_EQ(a.weights, batch->weights) << kind;
      EXPECT_EQ(a.labels, batch->labels) << kind;
      EXPECT_EQ(a.values, batch->values) << kind;
    }
    const auto same_input = [](const Batch& x, const Batch& y) {
      return x.dense == y.dense && x.tokens == y.tokens && x.indices == y.indices;
    };
    EXPECT_FALSE(same_input(a, fill(*other.train, {17, 3, 9999}))) << kind;
    EXPECT_FALSE(same_input(a, fill(*one.test, {17, 3, 999}))) << kind;
  }
}

TEST(Synthetic, LabelsAreInRangeAndAllOccur) {
  for (const std::string& kind : kKinds) {
    const Dataset dataset = synthetic(kind);
    const SampleShape& shape = dataset.train->shape();
    const Batch batch = fill(*dataset.train, first(500));
    std::set<std::int64_t> labels(batch.labels.begin(), batch.labels.end());
    if (shape.target == TargetKind::Values) {
      EXPECT_EQ(batch.values.size(), 1000U);
      continue;
    }
    EXPECT_GE(*labels.begin(), 0) << kind;
    EXPECT_LT(*labels.rbegin(), shape.classes) << kind;
    EXPECT_EQ(labels.size(), static_cast<std::size_t>(shape.classes)) << kind;
    for (const float x : batch.dense) ASSERT_TRUE(std::isfinite(x)) << kind;
    for (const std::int64_t token : batch.tokens) ASSERT_LT(token, shape.classes) << kind;
  }
}

TEST(Synthetic, SparseRowsAscendAndRareFeaturesAreRare) {
  const Dataset dataset = synthetic("sparse,features=1000,pairs=12");
  const Batch batch = fill(*dataset.train, first(300));
  ASSERT_EQ(batch.offsets.size(), 301U);
  std::size_t low = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    ASSERT_GT(batch.offsets[i + 1], batch.offsets[i]);
    for (std::int64_t k = batch.offsets[i]; k < batch.offsets[i + 1]; ++k) {
      ASSERT_LT(batch.indices[k], 1000);
      if (k > batch.offsets[i]) {
        ASSERT_GT(batch.indices[k], batch.indices[k - 1]);
      }
      low += batch.indices[k] < 31 ? 1 : 0;  // half of all, if there were no duplicates
    }
  }
  EXPECT_GT(low, batch.indices.size() / 4);
  EXPECT_LT(low, batch.indices.size() * 3 / 5);
}

TEST(Synthetic, ATrillionSamplesCostNothing) {
  const Dataset dataset = synthetic("images,n=1000000000000,size=4");
  EXPECT_EQ(dataset.train->size(), 1'000'000'000'000U);
  EXPECT_EQ(fill(*dataset.train, {999'999'999'999}).dense.size(), 16U);
}

TEST(Synthetic, ABlobIsNearestToTheMeanOfItsClass) {
  const Dataset dataset = synthetic("blobs,features=5,classes=3,noise=0.1");
  const Batch batch = fill(*dataset.train, first(600));
  std::vector<double> mean(15);
  std::vector<double> count(3);
  for (std::size_t i = 0; i < 600; ++i) {
    const auto c = static_cast<std::size_t>(batch.labels[i]);
    ++count[c];
    for (std::size_t k = 0; k < 5; ++k) mean[5 * c + k] += batch.dense[5 * i + k];
  }
  std::size_t right = 0;
  for (std::size_t i = 0; i < 600; ++i) {
    std::vector<double> distance(3);
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t k = 0; k < 5; ++k)
        distance[c] += std::pow(batch.dense[5 * i + k] - mean[5 * c + k] / count[c], 2);
    const auto nearest = std::ranges::min_element(distance) - distance.begin();
    right += nearest == batch.labels[i] ? 1 : 0;
  }
  EXPECT_EQ(right, 600U);
}

TEST(DatasetDeathTest, ASampleThatIsNotThereIsABug) {
  const Dataset dataset = synthetic("blobs,n=10");
  EXPECT_DEATH(fill(*dataset.train, {10}), "there is no such sample");
}

}  // namespace
}  // namespace shoal
