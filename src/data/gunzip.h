// Compressed input files; private to this layer.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/file_view.h"

namespace shoal {

bool is_gzip(const FileView& file);

// The first `most` bytes of the content of a gzip file, or fewer if it ends before. Memory grows
// with the output, so a file that claims much and holds little costs little. Throws DataError if
// the file is damaged or ends too early.
std::vector<std::byte> gunzip(const FileView& file, std::uint64_t most);

}  // namespace shoal
