// The FileOpener of the live world: a file mapped read-only.
#pragma once

#include <string>

#include "runtime/file_view.h"

namespace shoal {

// The kernel reads a page when it is first touched and drops it when memory is short, so a file may
// be larger than memory. If another program truncates the file meanwhile, this process ends
// (SIGBUS); replace such a file by a rename. Throws FileMissing if the file does not exist and
// DataError for a folder, a device, an empty file or one without read permission. Thread safety:
// may be called from any thread.
FileView map_file(const std::string& path);

}  // namespace shoal
