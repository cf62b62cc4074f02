// The installed Fashion-MNIST, and a text of some megabytes on a real disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numeric>

#include "data/dataset.h"
#include "data/partition.h"
#include "runtime/live/mapped_file.h"
#include "support/temporary_folder.h"

namespace shoal {
namespace {

TEST(FashionMnist, IsWhatItsAuthorsPublished) {
  const Dataset dataset = open_dataset("fashion-mnist", {}, map_file);
  ASSERT_EQ(dataset.train->size(), 60'000U);
  ASSERT_EQ(dataset.test->size(), 10'000U);
  EXPECT_EQ(describe(dataset.train->shape()), "1x28x28 numbers, 10 classes");
  std::vector<SampleId> all(60'000);
  std::iota(all.begin(), all.end(), SampleId{0});
  Batch batch;
  dataset.train->fill(0, std::span(all).first(5), batch);
  EXPECT_THAT(batch.labels, testing::ElementsAre(9, 0, 0, 3, 0));
  EXPECT_EQ(dataset.class_names.at(9), "ankle boot");

  // 6000 per class, normalized to mean 0 and standard deviation 1.
  std::vector<int> count(10);
  double sum = 0, squares = 0;
  for (std::size_t at = 0; at < all.size(); at += 1000) {
    dataset.train->fill(0, std::span(all).subspan(at, 1000), batch);
    for (const std::int64_t label : batch.labels) ++count.at(static_cast<std::size_t>(label));
    for (const float x : batch.dense) {
      sum += x;
      squares += static_cast<double>(x) * x;
    }
  }
  EXPECT_EQ(count, std::vector<int>(10, 6000));
  const double n = 60'000.0 * 784;
  EXPECT_NEAR(sum / n, 0, 1e-3);
  EXPECT_NEAR(std::sqrt(squares / n), 1, 1e-3);

  const auto parts =
      partition_samples({PartitionKind::ByLabel}, Seed(1), 60'000, labels_of(*dataset.train), 10);
  dataset.train->fill(0, parts[7], batch);
  EXPECT_EQ(batch.labels, std::vector<std::int64_t>(6000, 7));
}

TEST(MappedText, FourMegabytesAreReadInPlace) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "text").string();
  {
    std::ofstream out(path, std::ios::binary);
    for (int i = 0; i < 100'000; ++i) out << "verse " << i << " and so they went on, and on\n";
  }
  const Dataset dataset = open_dataset("text:" + path, {}, map_file);
  EXPECT_GT(dataset.train->size(), 50'000U);
  Batch batch;
  const std::vector<SampleId> samples{0, dataset.train->size() - 1};
  dataset.train->fill(0, samples, batch);
  std::string shown;
  for (int k = 0; k < 12; ++k)
    shown +=
        dataset.class_names[static_cast<std::size_t>(batch.tokens[static_cast<std::size_t>(k)])];
  EXPECT_EQ(shown, "verse 0 and ");
}

}  // namespace
}  // namespace shoal
