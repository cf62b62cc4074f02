// The formats of open_dataset; private to this layer. `rest` is the text after "KIND:".
#pragma once

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

}  // namespace shoal
