#include "runtime/live/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace shoal {
namespace {

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw DataError(fmt::format("{} {}", path, why));
}

[[noreturn]] void refuse(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR)
    throw FileMissing(fmt::format("{}: there is no such file", path));
  if (error == EACCES || error == EPERM)
    refuse(path, "this user may not read it: check the permissions of the file and its folders");
  refuse(path, fmt::format("cannot be opened: {}", std::generic_category().message(error)));
}

class Opened {
 public:
  // O_NONBLOCK: a pipe without a writer must be refused, not waited for.
  explicit Opened(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (fd_ < 0) refuse(path, errno);
  }
  ~Opened() { ::close(fd_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

FileView map_file(const std::string& path) {
  const Opened file(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) refuse(path, errno);
  if (S_ISDIR(status.st_mode)) refuse(path, "is a folder; give a file in it");
  if (!S_ISREG(status.st_mode)) refuse(path, "is a device or a pipe; only a file can be mapped");
  if (status.st_size == 0) refuse(path, "is empty");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (at == MAP_FAILED) refuse(path, errno);
  // Opening reads from front to back once; later samples are read in any order. Advice is a hint,
  // so a refusal does not matter.
  ::madvise(at, size, MADV_WILLNEED);
  std::shared_ptr<const void> owner(at, [size](const void* p) {
    ::munmap(const_cast<void*>(p), size);  // NOLINT: it was ours before it was const
  });
  return {std::move(owner), {static_cast<const std::byte*>(at), size}, path};
}

}  // namespace shoal
