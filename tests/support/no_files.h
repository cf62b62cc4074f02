// Files for programs that do not use files: every call throws.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/files.h"

namespace shoal {

class NoFiles final : public Files {
 public:
  Task<void> write(std::string path, ConstBuf) override { return none<void>(std::move(path)); }
  Task<void> append(std::string path, ConstBuf) override { return none<void>(std::move(path)); }
  Task<void> append_lines(std::string path, ConstBuf) override {
    return none<void>(std::move(path));
  }
  Task<std::vector<std::byte>> read(std::string path) override {
    return none<std::vector<std::byte>>(std::move(path));
  }
  Task<void> sync(std::string path) override { return none<void>(std::move(path)); }
  Task<void> rename(std::string from, std::string) override { return none<void>(std::move(from)); }
  Task<void> remove(std::string path) override { return none<void>(std::move(path)); }
  Task<std::vector<std::string>> list(std::string folder) override {
    return none<std::vector<std::string>>(std::move(folder));
  }

 private:
  template <class T>
  static Task<T> none(std::string path) {
    throw DataError("there are no files in this test: " + path);
    co_return T();
  }
};

}  // namespace shoal
