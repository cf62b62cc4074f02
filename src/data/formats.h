// The formats of open_dataset; private to this layer. `rest` is the text after "KIND:". A new
// format has a declaration and a row here.
//
//   fashion-mnist             as Debian installs it
//   idx:DIR                   MNIST's format, compressed or not
//   cifar10:DIR               the binary version
//   csv:FILE[:label=COLUMN][:target=classes|values]
//   libsvm:FILE[:target=...]  sparse rows
//   text:FILE[:length=T]      predict the next character
//   synthetic:KIND[,key=value...]  blobs, spirals, images, teacher, sparse, text; needs no file
#pragma once

#include <array>
#include <string_view>

#include "data/dataset.h"

namespace shoal {

Dataset open_fashion_mnist(std::string_view rest, const DatasetOptions& options,
                           const FileOpener& opener);
Dataset open_idx(std::string_view rest, const DatasetOptions& options, const FileOpener& opener);
Dataset open_cifar10(std::string_view rest, const DatasetOptions& options,
                     const FileOpener& opener);
Dataset open_csv(std::string_view rest, const DatasetOptions& options, const FileOpener& opener);
Dataset open_libsvm(std::string_view rest, const DatasetOptions& options, const FileOpener& opener);
Dataset open_text(std::string_view rest, const DatasetOptions& options, const FileOpener& opener);
Dataset open_synthetic(std::string_view rest, const DatasetOptions& options,
                       const FileOpener& opener);

struct DatasetFormat {
  std::string_view name;
  std::string_view rest;  // the form of the rest, for messages
  bool augments;          // whether its samples can be augmented
  Dataset (*open)(std::string_view, const DatasetOptions&, const FileOpener&);
};

inline constexpr std::array kDatasetFormats{
    DatasetFormat{"fashion-mnist", "", true, open_fashion_mnist},
    DatasetFormat{"idx", ":DIR", true, open_idx},
    DatasetFormat{"cifar10", ":DIR", true, open_cifar10},
    DatasetFormat{"csv", ":FILE[:label=COLUMN]", false, open_csv},
    DatasetFormat{"libsvm", ":FILE", false, open_libsvm},
    DatasetFormat{"text", ":FILE", true, open_text},
    DatasetFormat{"synthetic", ":KIND[,key=value...]", false, open_synthetic},
};

}  // namespace shoal
