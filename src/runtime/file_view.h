// A user's input file as bytes: a mapping of a real file, or bytes made by a test. Input is read
// without awaiting and may be larger than memory, so it is not part of Files, which keeps the files
// that a job writes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

namespace shoal {

struct FileView {
  std::shared_ptr<const void> owner;  // keeps the bytes alive
  std::span<const std::byte> bytes;
  std::string path;  // for messages
};

// The file does not exist. Callers that know another name or a way to get it catch this.
class FileMissing : public DataError {
 public:
  using DataError::DataError;
};

// Throws FileMissing, or DataError if the file exists but cannot be read.
using FileOpener = std::function<FileView(const std::string& path)>;

}  // namespace shoal
