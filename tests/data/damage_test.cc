// Damaged files of every format: flipped bits, truncated ends, replaced bytes, all drawn from
// seeds. A parser accepts the file or throws a DataError or ConfigError; anything else fails this
// test.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "support/dataset_bytes.h"

namespace shoal {
namespace {

struct Victim {
  std::string spec, path;
  MemoryFiles files;
};

std::vector<Victim> victims() {
  std::vector<Victim> all;
  for (const char* name : {"d/train-images-idx3-ubyte", "d/train-labels-idx1-ubyte",
                           "d/t10k-images-idx3-ubyte", "d/t10k-labels-idx1-ubyte"}) {
    all.push_back({"idx:d", name, small_idx()});
    Victim packed{"idx:d", std::string(name) + ".gz", small_idx()};
    packed.files[packed.path] = gzipped(packed.files[name]);
    packed.files.erase(name);
    all.push_back(packed);
  }
  all.push_back({"cifar10:c", "c/data_batch_2.bin", small_cifar(2)});
  const auto text = [&](const std::string& spec, const std::string& content) {
    Victim victim{spec, "f", {}};
    victim.files["f"] = content;
    all.push_back(victim);
  };
  text("csv:f", "a,b,label\n1,2.5,0\n-3e2,4,1\r\n5,+6,0\n7,8,1\n");
  text("csv:f:label=kind", "kind,x\n\"b, \"\"c\"\"\",1\nd,2\nb,3\n");
  text("csv:f:target=values", "1,2,0.5\n3,4,1.5\n5,6,2\n");
  text("libsvm:f", "1 1:0.5 7:2\n-1 2:1 3:4 # x\n1 1:1\n");
  text("text:f:length=3", "the quick brown fox jumps over the lazy dog, twice and again\n");
  return all;
}

std::string damaged(std::string bytes, Random& random) {
  for (std::uint64_t times = random.between(1, 4); times > 0; --times) {
    if (bytes.empty()) return bytes;
    const std::size_t at = random.below(bytes.size());
    switch (random.below(6)) {
      case 0: bytes[at] ^= static_cast<char>(1U << random.below(8)); break;
      case 1: bytes[at] = static_cast<char>(random.below(256)); break;
      case 2: bytes.resize(at); break;
      case 3: bytes.insert(at, 1, "0123456789,:;.-+e\"\n\r #nai"[random.below(26)]); break;
      case 4: bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(20))); break;
      case 5: bytes.erase(at, random.between(1, 8)); break;
    }
  }
  return bytes;
}

TEST(Damage, TheFilesAreFineBefore) {
  for (const Victim& victim : victims()) {
    SCOPED_TRACE(victim.spec + " " + victim.path);
    EXPECT_NO_THROW(open_and_read(victim.spec, victim.files.opener(), {}));
  }
}

TEST(Damage, NoFileCanDoMoreThanBeTakenOrRefused) {
  std::uint64_t taken = 0, refused = 0;
  for (Victim& victim : victims()) {
    const std::string whole = victim.files[victim.path];
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      Random random(Seed(seed), Purpose::Test);
      victim.files[victim.path] = damaged(whole, random);
      DatasetOptions options;
      options.augment = seed % 2 == 0;
      options.test_fraction = seed % 3 == 0 ? 0 : 0.1;
      try {
        open_and_read(victim.spec, victim.files.opener(), options);
        ++taken;
      } catch (const DataError& e) {
        ++refused;
        ASSERT_FALSE(std::string(e.what()).empty());
      } catch (const ConfigError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(taken, 100U);
  EXPECT_GT(refused, 500U);
}

TEST(Damage, NoSpecCanDoMoreThanBeTakenOrRefused) {
  const std::vector<std::string> specs{"synthetic:blobs,n=10,features=3,classes=4",
                                       "synthetic:images,size=4,channels=2",
                                       "synthetic:sparse,features=50,pairs=3",
                                       "synthetic:teacher,hidden=3,values=2",
                                       "csv:f:label=2:target=classes",
                                       "text:f:length=3"};
  MemoryFiles files;
  files["f"] = "1,2\n3,4\n5,6\n";
  for (const std::string& spec : specs)
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Random random(Seed(seed), Purpose::Test);
      try {
        open_dataset(damaged(spec, random), {}, files.opener());
      } catch (const DataError&) {
      } catch (const ConfigError&) {
      }
    }
}

}  // namespace
}  // namespace shoal
