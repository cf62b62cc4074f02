// What `--data SPEC` means: a dataset, opened and checked, whose samples are made on demand.
//
//   fashion-mnist             as Debian installs it
//   idx:DIR                   MNIST's format, compressed or not
//   cifar10:DIR               the binary version
//   csv:FILE[:label=COLUMN][:target=classes|values]
//   libsvm:FILE[:target=...]  sparse rows
//   text:FILE[:length=T]      predict the next character
//   synthetic:KIND[,key=value...]  blobs, spirals, images, teacher, sparse, text; needs no file
//
// Opening reads a file once, to check all of it and to know its size; what stays in memory is at
// most an offset per row, and images only where they were compressed.
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
  std::shared_ptr<const BatchSource> test;  // null when nothing was held out
  std::string name;                         // what it is and where it came from, for people
  std::vector<std::string> class_names;     // what the labels stand for, where the data says so
};

struct DatasetOptions {
  Seed seed{};
  bool augment = false;        // training images are cropped and flipped, windows of text shifted
  std::uint64_t length = 64;   // T, of the windows of a text
  double test_fraction = 0.1;  // held out of files that have no test set of their own
};

// Throws ConfigError for a spec that cannot be meant, DataError for files that cannot be used.
Dataset open_dataset(const std::string& spec, const DatasetOptions& options,
                     const FileOpener& opener);

}  // namespace shoal
