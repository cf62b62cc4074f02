// Opens and checks the dataset of `--data SPEC`; samples are made on demand.
//
//   fashion-mnist             as Debian installs it
//   idx:DIR                   MNIST's format, compressed or not
//   cifar10:DIR               the binary version
//   csv:FILE[:label=COLUMN][:target=classes|values]
//   libsvm:FILE[:target=...]  sparse rows
//   text:FILE[:length=T]      predict the next character
//   synthetic:KIND[,key=value...]  blobs, spirals, images, teacher, sparse, text; needs no file
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
