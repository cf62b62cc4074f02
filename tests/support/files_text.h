// Reads and writes files as text, for tests.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "runtime/files.h"
#include "support/inline_env.h"

namespace shoal {

inline ConstBuf text_buf(std::string_view text) { return const_buf(std::span<const char>(text)); }

inline void write_text(Files& files, std::string path, std::string_view text) {
  run(files.write(std::move(path), text_buf(text)));
}

inline void append_text(Files& files, std::string path, std::string_view text) {
  run(files.append(std::move(path), text_buf(text)));
}

inline std::string read_text(Files& files, std::string path) {
  const std::vector<std::byte> bytes = run(files.read(std::move(path)));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The message of the DataError that a call throws; empty if it throws none.
template <class T>
std::string error_of(Task<T> call) {
  try {
    run(std::move(call));
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

}  // namespace shoal
