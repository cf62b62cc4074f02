#include "data/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "support/dataset_bytes.h"

namespace shoal {
namespace {

using Parts = std::vector<std::vector<SampleId>>;

std::vector<std::int64_t> labels(std::uint64_t n, std::int64_t classes) {
  Random random(Seed(5), Purpose::Test);
  std::vector<std::int64_t> labels(n);
  for (std::int64_t& label : labels)
    label = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(classes)));
  return labels;
}

void expect_each_owned_once(const Parts& parts, std::uint64_t samples) {
  std::vector<int> owners(samples);
  for (const auto& part : parts) {
    EXPECT_FALSE(part.empty());
    EXPECT_TRUE(std::ranges::is_sorted(part));
    for (const SampleId id : part) ++owners.at(id);
  }
  for (std::uint64_t id = 0; id < samples; ++id) ASSERT_EQ(owners[id], 1) << "sample " << id;
}

// The share of the most frequent class in a part, averaged over the parts.
double purity(const Parts& parts, const std::vector<std::int64_t>& of, std::int64_t classes) {
  double sum = 0;
  for (const auto& part : parts) {
    std::vector<double> count(static_cast<std::size_t>(classes));
    for (const SampleId id : part) ++count[static_cast<std::size_t>(of[id])];
    sum += *std::ranges::max_element(count) / static_cast<double>(part.size());
  }
  return sum / static_cast<double>(parts.size());
}

TEST(Partition, EverySampleIsOwnedOnceWhateverTheKindAndTheSizes) {
  for (const char* text : {"local", "by-label", "dirichlet:0.01", "dirichlet:0.5", "dirichlet:100"})
    for (const std::uint32_t workers : {1U, 2U, 3U, 7U, 16U})
      for (const std::uint64_t samples : {16U, 17U, 500U}) {
        const auto of = labels(samples, 10);
        const Partition partition = parse_partition(text);
        const Parts parts = partition_samples(partition, Seed(3), samples, of, workers);
        ASSERT_EQ(parts.size(), workers);
        SCOPED_TRACE(fmt::format("{} P={} n={}", text, workers, samples));
        expect_each_owned_once(parts, samples);
        EXPECT_EQ(parts, partition_samples(partition, Seed(3), samples, of, workers));
      }
}

TEST(Partition, LocalPartsAreEqualAndMixed) {
  const auto of = labels(1000, 10);
  const Parts parts = partition_samples({PartitionKind::Local}, Seed(3), 1000, {}, 3);
  EXPECT_EQ(parts[0].size(), 334U);
  EXPECT_EQ(parts[1].size(), 333U);
  EXPECT_EQ(parts[2].size(), 333U);
  EXPECT_LT(purity(parts, of, 10), 0.2);
  EXPECT_NE(parts, partition_samples({PartitionKind::Local}, Seed(4), 1000, {}, 3));
}

TEST(Partition, ByLabelGivesEachWorkerConsecutiveClasses) {
  const std::vector<std::int64_t> of{2, 0, 1, 0, 2, 1};
  EXPECT_EQ(partition_samples({PartitionKind::ByLabel}, Seed(1), 6, of, 3),
            (Parts{{1, 3}, {2, 5}, {0, 4}}));
  EXPECT_EQ(partition_samples({PartitionKind::ByLabel}, Seed(1), 6, of, 2),
            (Parts{{1, 2, 3}, {0, 4, 5}}));
}

TEST(Partition, ASmallAlphaSkewsAndALargeOneDoesNot) {
  const auto of = labels(5000, 10);
  double before = 1.1;
  for (const double alpha : {0.01, 0.3, 3.0, 1000.0}) {
    double mean = 0;
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      mean += purity(partition_samples({PartitionKind::Dirichlet, alpha}, Seed(seed), 5000, of, 8),
                     of, 10) /
              5;
    EXPECT_LT(mean, before) << alpha;
    before = mean;
    if (alpha < 0.1) {
      EXPECT_GT(mean, 0.6);
    }
    if (alpha > 100) {
      EXPECT_LT(mean, 0.16);
    }
  }
}

TEST(Partition, ItsTextIsReadBackAndMistakesAreAnswered) {
  for (const char* text : {"global", "local", "by-label", "dirichlet:0.1"})
    EXPECT_EQ(describe(parse_partition(text)), text);
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      parse_partition(text);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "taken";
  };
  EXPECT_EQ(refusal("by-labl"), "'by-labl' is not a partition. Did you mean 'by-label'?");
  EXPECT_EQ(refusal("dirichlet"), "'dirichlet' is not a partition. Did you mean 'dirichlet:A'?");
  for (const char* text : {"dirichlet:", "dirichlet:0", "dirichlet:-1", "dirichlet:nan"})
    EXPECT_EQ(refusal(text),
              fmt::format("partition '{}': the number after the colon must be in 0.001 .. 1000000",
                          text));
  EXPECT_THROW(partition_samples({PartitionKind::Local}, Seed(1), 3, {}, 4), ConfigError);
}

TEST(Partition, LabelsComeFromTheSource) {
  MemoryFiles files = small_cifar(60);
  const Dataset cifar = open_dataset("cifar10:c", {}, files.opener());
  const std::vector<std::int64_t> of = labels_of(*cifar.train);
  ASSERT_EQ(of.size(), 300U);
  EXPECT_EQ(of[0], 1);
  EXPECT_EQ(of[299], (59 + 5) % 10);
  const Dataset text = open_dataset("synthetic:text", {}, files.opener());
  EXPECT_THROW(labels_of(*text.train), ConfigError);
}

}  // namespace
}  // namespace shoal
