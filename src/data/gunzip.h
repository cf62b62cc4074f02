// Compressed input files; private to this layer.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/file_view.h"

namespace shoal {

bool is_gzip(const FileView& file);

// The first `most` bytes of what a gzip file holds; fewer where it ends before. Memory grows with
// what comes out, so that a file that claims much and holds little costs little. Throws DataError
// when the file is damaged or ends too early.
std::vector<std::byte> gunzip(const FileView& file, std::uint64_t most);

}  // namespace shoal
