// A user's input file as bytes, whoever opened it: a mapping of a real file, or the bytes that a
// test made. Input is only read, never awaited, and may be larger than memory, so it is not part of
// Files, which keeps what a job writes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

namespace shoal {

struct FileView {
  std::shared_ptr<const void> owner;  // the bytes live as long as this
  std::span<const std::byte> bytes;
  std::string path;  // for messages
};

// There is no such file: whoever knows another name for it, or how to get it, reacts.
class FileMissing : public DataError {
 public:
  using DataError::DataError;
};

// Throws FileMissing, or DataError for what is there and cannot be read.
using FileOpener = std::function<FileView(const std::string& path)>;

}  // namespace shoal
