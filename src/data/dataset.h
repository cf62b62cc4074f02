// Opens and checks the dataset of `--data SPEC`; samples are made on demand. The
// formats are listed in data/formats.h.
//
// Opening reads a file once, to check all of it and to find its size. At most an offset per row
// stays in memory, and images only if they were compressed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/types.h"
#include "learner/batch.h"
#include "runtime/file_view.h"

namespace shoal {

struct Dataset {
  std::shared_ptr<const BatchSource> train;
  std::shared_ptr<const BatchSource> test;  // null if no data was held out
  std::string name;                         // name and source, for people
  std::vector<std::string> class_names;     // names of the labels, if the data has them
};

struct DatasetOptions {
  Seed seed{};
  bool augment = false;        // crop and flip training images, shift windows of text
  std::uint64_t length = 64;   // T, of the windows of a text
  double test_fraction = 0.1;  // held out of files without a test set
};

// "fashion-mnist, idx:DIR, ...", for --help.
std::string dataset_forms();

// Throws ConfigError for an invalid spec, DataError for unusable files.
Dataset open_dataset(const std::string& spec, const DatasetOptions& options,
                     const FileOpener& opener);

}  // namespace shoal
