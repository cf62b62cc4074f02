// Image files: every byte is accounted for, and every damage is reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/dataset_bytes.h"

namespace shoal {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

std::string refusal(const MemoryFiles& files, const std::string& spec = "idx:d") {
  try {
    open_dataset(spec, {}, files.opener());
  } catch (const DataError& e) {
    return e.what();
  }
  return "opened";
}

Batch fill(const BatchSource& source, std::vector<SampleId> samples, std::uint64_t epoch = 0) {
  Batch batch;
  source.fill(epoch, samples, batch);
  return batch;
}

TEST(Idx, PixelsAreNormalizedByTheMeanAndDeviationOfTheTrainingImages) {
  const MemoryFiles files = small_idx();
  const Dataset dataset = open_dataset("idx:d/", {}, files.opener());
  EXPECT_EQ(dataset.train->size(), 3U);
  EXPECT_EQ(dataset.test->size(), 2U);
  EXPECT_EQ(dataset.train->shape(),
            (SampleShape{InputKind::Dense, {1, 2, 3}, TargetKind::Classes, 3}));
  EXPECT_EQ(dataset.name, "3 images to train and 2 to test from d");
  const Batch batch = fill(*dataset.train, {2, 0});
  EXPECT_THAT(batch.labels, ElementsAre(1, 0));
  // The bytes 1 .. 18 have mean 9.5 and variance (18^2 - 1) / 12.
  const double deviation = std::sqrt(323.0 / 12);
  ASSERT_EQ(batch.dense.size(), 12U);
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(batch.dense[i], (13 + i - 9.5) / deviation, 1e-5) << "pixel " << i;
    EXPECT_NEAR(batch.dense[6 + i], (1 + i - 9.5) / deviation, 1e-5) << "pixel " << i;
  }
  EXPECT_NEAR(fill(*dataset.test, {0}).dense[0], (7 - 9.5) / deviation, 1e-5);
}

TEST(Idx, CompressedFilesHoldTheSame) {
  MemoryFiles plain = small_idx(), packed = small_idx();
  for (const char* name : {"d/train-images-idx3-ubyte", "d/t10k-labels-idx1-ubyte"}) {
    packed[std::string(name) + ".gz"] = gzipped(plain[name]);
    packed.erase(name);
  }
  const Dataset a = open_dataset("idx:d", {}, plain.opener());
  const Dataset b = open_dataset("idx:d", {}, packed.opener());
  EXPECT_EQ(fill(*a.train, {0, 1, 2}).dense, fill(*b.train, {0, 1, 2}).dense);
  EXPECT_EQ(fill(*a.test, {0, 1}).labels, fill(*b.test, {0, 1}).labels);
}

TEST(Idx, DamageIsNamedWithItsFile) {
  MemoryFiles files = small_idx();
  const std::string images = files["d/train-images-idx3-ubyte"];
  files["d/train-images-idx3-ubyte"] = images.substr(0, 20);
  EXPECT_EQ(refusal(files),
            "d/train-images-idx3-ubyte: its header promises 18 bytes, but only 4 follow. Get it "
            "again.");
  files["d/train-images-idx3-ubyte"] = images + "x";
  EXPECT_THAT(refusal(files), HasSubstr("promises 18 bytes, but more follow"));
  files["d/train-images-idx3-ubyte"] = images.substr(0, 3);
  EXPECT_THAT(refusal(files), HasSubstr("has 3 bytes, less than an idx header of 16"));
  files["d/train-images-idx3-ubyte"] = idx_labels("abc") + images;
  EXPECT_THAT(refusal(files), HasSubstr("begins with 0x00000801 and not with 0x00000803"));
  files["d/train-images-idx3-ubyte"] = idx_images(0, 2, 3, "");
  EXPECT_THAT(refusal(files), HasSubstr("has the impossible value 0 for size 1"));
  files["d/train-images-idx3-ubyte"] = idx_images(0xffffffff, 0xffffffff, 0xffffffff, "abc");
  EXPECT_THAT(refusal(files), HasSubstr("has the impossible value 4294967295 for size 2"));
  files["d/train-images-idx3-ubyte"] = idx_images(0xffffffff, 16384, 16384, "abc");
  EXPECT_THAT(refusal(files), HasSubstr("but only 3 follow"));
  files["d/train-images-idx3-ubyte"] = idx_images(2, 2, 3, std::string(12, 'a'));
  EXPECT_EQ(refusal(files),
            "d/train-images-idx3-ubyte has 2 images, but d/train-labels-idx1-ubyte has 3 labels");
  files.erase("d/train-images-idx3-ubyte");
  EXPECT_EQ(refusal(files),
            "there is neither d/train-images-idx3-ubyte nor d/train-images-idx3-ubyte.gz");
}

TEST(Idx, LabelsThatTrainingDoesNotKnowAreRefused) {
  MemoryFiles files = small_idx();
  files["d/t10k-labels-idx1-ubyte"] = idx_labels({1, 7});
  EXPECT_EQ(refusal(files), "d/t10k-labels-idx1-ubyte: label 7 of record 1 is not in 0 .. 2");
  files["d/train-labels-idx1-ubyte"] = idx_labels({0, 0, 0});
  EXPECT_THAT(refusal(files), HasSubstr("all labels in d are 0"));
}

TEST(Idx, ADamagedGzipFileIsNamed) {
  MemoryFiles files = small_idx();
  const std::string whole = gzipped(files["d/train-images-idx3-ubyte"]);
  files.erase("d/train-images-idx3-ubyte");
  std::string& packed = files["d/train-images-idx3-ubyte.gz"];
  packed = whole.substr(0, whole.size() - 9);
  EXPECT_THAT(refusal(files), HasSubstr("ubyte.gz is a damaged gzip file: it ends too early"));
  packed = whole;
  packed[whole.size() - 6] ^= 1;  // of the checksum
  EXPECT_THAT(refusal(files), HasSubstr("incorrect data check"));
  packed = whole + "tail";
  EXPECT_THAT(refusal(files), HasSubstr("is a damaged gzip file"));
}

TEST(FashionMnist, WhereItIsMissingSaysHowToGetIt) {
  EXPECT_THAT(refusal(MemoryFiles(), "fashion-mnist"),
              HasSubstr("apt-get install dataset-fashion-mnist"));
}

TEST(Cifar, PlanesLabelsAndFilesAreInOrder) {
  MemoryFiles files = small_cifar(2);
  const Dataset dataset = open_dataset("cifar10:c", {}, files.opener());
  EXPECT_EQ(dataset.train->size(), 10U);
  EXPECT_EQ(dataset.test->size(), 2U);
  EXPECT_EQ(describe(dataset.train->shape()), "3x32x32 numbers, 10 classes");
  const Batch batch = fill(*dataset.train, {3, 9});  // the second record of files 2 and 5
  EXPECT_THAT(batch.labels, ElementsAre(3, 6));
  const auto normal = [](int byte, double mean, double deviation) {
    return FloatNear(static_cast<float>((byte / 255.0 - mean) / deviation), 1e-5F);
  };
  EXPECT_THAT(batch.dense[0], normal(33, 0.4914, 0.2470));
  EXPECT_THAT(batch.dense[1024], normal(34, 0.4822, 0.2435));
  EXPECT_THAT(batch.dense[2 * 3072 - 1], normal(83, 0.4465, 0.2616));
  EXPECT_THAT(fill(*dataset.test, {0}).labels, ElementsAre(0));
}

TEST(Cifar, TheFolderInItsArchiveIsFoundAndDamageNamed) {
  MemoryFiles files = small_cifar(1), inner;
  for (const char* name : {"test_batch", "data_batch_1", "data_batch_2", "data_batch_3",
                           "data_batch_4", "data_batch_5"})
    inner[fmt::format("c/cifar-10-batches-bin/{}.bin", name)] =
        files[fmt::format("c/{}.bin", name)];
  EXPECT_EQ(refusal(inner, "cifar10:c"), "opened");
  files["c/data_batch_3.bin"].pop_back();
  EXPECT_THAT(
      refusal(files, "cifar10:c"),
      HasSubstr("c/data_batch_3.bin has 3072 bytes, which is not a multiple of a record's 3073"));
  files["c/data_batch_3.bin"] = "";
  EXPECT_THAT(refusal(files, "cifar10:c"), HasSubstr("c/data_batch_3.bin has 0 bytes"));
  files["c/data_batch_3.bin"] = std::string(3073, 'x');
  EXPECT_THAT(refusal(files, "cifar10:c"), HasSubstr("label 120 of record 0 is not in 0 .. 9"));
  files.erase("c/data_batch_3.bin");
  EXPECT_THAT(refusal(files, "cifar10:c"), HasSubstr("c/data_batch_3.bin: there is no such file"));
}

// One image of 6 x 5 with pixels 1 .. 30, so that each pixel's destination can be recognized.
class Augmented : public testing::Test {
 protected:
  static constexpr int kHeight = 6, kWidth = 5;
  Augmented() {
    std::string pixels(kHeight * kWidth, '\0');
    std::iota(pixels.begin(), pixels.end(), '\1');
    files_["d/train-images-idx3-ubyte"] = idx_images(2, kHeight, kWidth, pixels + pixels);
    files_["d/train-labels-idx1-ubyte"] = idx_labels({0, 1});
    files_["d/t10k-images-idx3-ubyte"] = files_["d/train-images-idx3-ubyte"];
    files_["d/t10k-labels-idx1-ubyte"] = files_["d/train-labels-idx1-ubyte"];
    plain_ = open_dataset("idx:d", {Seed(1), false}, files_.opener());
    moved_ = open_dataset("idx:d", {Seed(1), true}, files_.opener());
  }
  // Converts the batch back to bytes.
  std::vector<int> bytes(const Batch& batch) const {
    const Batch known = fill(*plain_.train, {0});
    const float unit = known.dense[1] - known.dense[0];
    std::vector<int> bytes;
    for (const float x : batch.dense)
      bytes.push_back(static_cast<int>(std::lround((x - known.dense[0]) / unit)) + 1);
    return bytes;
  }
  MemoryFiles files_;
  Dataset plain_, moved_;
};

TEST_F(Augmented, EachEpochShowsTheImageShiftedByUpToFourAndMirroredHalfOfTheTime) {
  int mirrored = 0, distinct = 0;
  std::vector<std::vector<int>> seen;
  for (std::uint64_t epoch = 0; epoch < 200; ++epoch) {
    const std::vector<int> got = bytes(fill(*moved_.train, {0}, epoch));
    // Searches the 9 x 9 x 2 possible windows, padded with black; exactly one must match.
    int ways = 0;
    for (int down = -4; down <= 4; ++down)
      for (int right = -4; right <= 4; ++right)
        for (const bool mirror : {false, true}) {
          std::vector<int> want;
          for (int y = 0; y < kHeight; ++y)
            for (int k = 0; k < kWidth; ++k) {
              const int x = mirror ? kWidth - 1 - k : k;
              const bool inside =
                  y + down >= 0 && y + down < kHeight && x + right >= 0 && x + right < kWidth;
              want.push_back(inside ? (y + down) * kWidth + x + right + 1 : 0);
            }
          if (want == got && ++ways == 1) mirrored += mirror ? 1 : 0;
        }
    ASSERT_GE(ways, 1) << "epoch " << epoch;
    if (std::ranges::find(seen, got) == seen.end()) {
      seen.push_back(got);
      ++distinct;
    }
  }
  EXPECT_GT(distinct, 90);
  EXPECT_GT(mirrored, 60);
  EXPECT_LT(mirrored, 140);
}

TEST_F(Augmented, DependsOnSeedEpochAndSampleAloneAndTestsAreLeftAsTheyAre) {
  EXPECT_EQ(fill(*moved_.train, {0, 1}, 3).dense, fill(*moved_.train, {0, 1}, 3).dense);
  EXPECT_NE(fill(*moved_.train, {0}, 3).dense, fill(*moved_.train, {1}, 3).dense);
  EXPECT_NE(fill(*moved_.train, {0}, 3).dense, fill(*moved_.train, {0}, 4).dense);
  const Dataset other = open_dataset("idx:d", {Seed(2), true}, files_.opener());
  EXPECT_NE(fill(*moved_.train, {0}, 3).dense, fill(*other.train, {0}, 3).dense);
  EXPECT_EQ(fill(*moved_.test, {0, 1}, 3).dense, fill(*plain_.test, {0, 1}, 0).dense);
  // A sample does not depend on its place in a batch.
  const Batch alone = fill(*moved_.train, {1}, 3), second = fill(*moved_.train, {0, 1}, 3);
  EXPECT_TRUE(std::equal(alone.dense.begin(), alone.dense.end(), second.dense.begin() + 30));
}

}  // namespace
}  // namespace shoal
