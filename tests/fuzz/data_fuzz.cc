// libFuzzer: for any file, a parser of src/data opens it or throws DataError or ConfigError. The
// first byte chooses the format and the options; the rest is the file, or the spec for the last
// choice. Built with clang only.
//
//   build/clang/tests/data_fuzz -max_total_time=60
#include <cstdlib>

#include "support/dataset_bytes.h"

namespace {

using namespace shoal;

// If a dataset has other files, they are valid.
struct Choice {
  std::string spec, path;
  MemoryFiles files;
};

const std::vector<Choice>& choices() {
  static const std::vector<Choice> all{
      {"idx:d", "d/train-images-idx3-ubyte", small_idx()},
      {"idx:d", "d/train-labels-idx1-ubyte", small_idx()},
      {"idx:d", "d/t10k-images-idx3-ubyte", small_idx()},
      {"cifar10:c", "c/data_batch_1.bin", small_cifar(1)},
      {"csv:f", "f", {}},
      {"csv:f:label=1", "f", {}},
      {"csv:f:target=values", "f", {}},
      {"libsvm:f", "f", {}},
      {"text:f:length=2", "f", {}},
      {"", "f", {}},
  };
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Choice choice = choices()[(data[0] & 0x3fU) % choices().size()];
  DatasetOptions options;
  options.augment = (data[0] & 0x40U) != 0;
  options.test_fraction = (data[0] & 0x80U) != 0 ? 0.1 : 0;
  const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
  choice.files[choice.path] = choice.spec.empty() ? "1,2\n3,4\n5,6\n" : content;
  try {
    if (choice.spec.empty()) {
      // Only opened: a spec may ask for samples of gigabytes.
      open_dataset(content, options, choice.files.opener());
    } else {
      open_and_read(choice.spec, choice.files.opener(), options);
    }
  } catch (const DataError& e) {
    if (*e.what() == '\0') std::abort();
  } catch (const ConfigError& e) {
    if (*e.what() == '\0') std::abort();
  }
  return 0;
}
