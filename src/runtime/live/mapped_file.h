// The FileOpener of the live world: a file mapped read-only.
#pragma once

#include <string>

#include "runtime/file_view.h"

namespace shoal {

// The kernel reads a page when it is first touched and drops it when memory is short, so that a
// file may be larger than memory. A file that another program shortens meanwhile ends this process
// (SIGBUS); replace such a file by a rename. Throws FileMissing when there is no such file and
// DataError for a folder, a device, an empty file or one that may not be read.
// Thread safety: may be called from any thread.
FileView map_file(const std::string& path);

}  // namespace shoal
