#include "runtime/live/posix_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "runtime/file_path.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

// A slice in the page cache takes well under a millisecond, so heartbeats continue between slices.
constexpr std::size_t kSliceBytes = std::size_t{1} << 20U;

// Advice about an error, where there is any.
std::string advice(int error, const fs::path& path) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: {
      struct statvfs disk {};
      std::string free;
      if (::statvfs(path.parent_path().c_str(), &disk) == 0)
        free = fmt::format(" ({} bytes are free there)", disk.f_bavail * disk.f_frsize);
      return fmt::format(". Free some space{}, or put the run's folder on another disk (--out)",
                         free);
    }
    case EACCES:
    case EPERM:
    case EROFS:
      return ". Check the owner and permissions of the folder, or choose another one (--out)";
    default: return {};
  }
}

[[noreturn]] void fail(std::string_view call, const fs::path& path, int error) {
  throw DataError(fmt::format("{} {}: {}{}", call, path.string(),
                              std::generic_category().message(error), advice(error, path)));
}

// Calls `f` again while a signal interrupts it.
template <class F>
auto uninterrupted(F f) {
  auto result = f();
  while (result < 0 && errno == EINTR) result = f();
  return result;
}

class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  void open(std::string_view call, const fs::path& path, int flags) {
    fd_ = uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
    if (fd_ < 0) fail(call, path, errno);
  }
  // Network file systems and quotas report a failed write only here.
  void close(std::string_view call, const fs::path& path) {
    if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) fail(call, path, errno);
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

void write_all(std::string_view call, const Descriptor& file, const fs::path& path,
               std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n =
        uninterrupted([&] { return ::write(file.get(), bytes.data(), bytes.size()); });
    if (n < 0) fail(call, path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

// Fills `bytes`; returns less than their size only at the end of the file.
std::size_t read_all(const Descriptor& file, const fs::path& path, std::span<std::byte> bytes) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t n = uninterrupted(
        [&] { return ::read(file.get(), bytes.data() + filled, bytes.size() - filled); });
    if (n < 0) fail("read", path, errno);
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  return filled;
}

// Waits until no other process writes lines to the file. False: another one takes long; it may be
// frozen forever.
bool locked_briefly(const Descriptor& file) {
  constexpr int kTries = 50;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return false;
}

bool ends_inside_a_line(const Descriptor& file, const fs::path& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail("append", path, errno);
  if (status.st_size == 0) return false;
  char last = 0;
  if (uninterrupted([&] { return ::pread(file.get(), &last, 1, status.st_size - 1); }) < 0)
    fail("append", path, errno);
  return last != '\n';
}

void sync_now(const fs::path& path) {
  Descriptor file;
  file.open("sync", path, O_RDONLY);
  if (uninterrupted([&] { return ::fsync(file.get()); }) != 0) fail("sync", path, errno);
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail("make folder", path, error.value());
}

}  // namespace

PosixFiles::PosixFiles(Env& env, fs::path root)
    : env_(env), root_((fs::absolute(root) / "").lexically_normal().parent_path()) {
  std::vector<fs::path> changed;  // folders with new names in them, which callers cannot sync
  for (fs::path at = root_; !fs::exists(at) && at.has_relative_path();)
    changed.push_back(at = at.parent_path());
  make_folder(root_);
  for (const fs::path& folder : changed) sync_now(folder);
}

fs::path PosixFiles::below_root(const std::string& path) const {
  fs::path full = root_;
  for (const std::string& name : path_names(path)) full /= name;
  return full;
}

Task<void> PosixFiles::write(std::string path, ConstBuf content) {
  return put("write", O_TRUNC, std::move(path), content);
}

Task<void> PosixFiles::append(std::string path, ConstBuf content) {
  return put("append", O_APPEND, std::move(path), content);
}

Task<void> PosixFiles::append_lines(std::string path, ConstBuf lines) {
  const fs::path full = below_root(path);
  auto call = [&] {
    make_folder(full.parent_path());
    Descriptor file;
    file.open("append", full, O_RDWR | O_CREAT | O_APPEND);
    const std::byte new_line{'\n'};
    if (locked_briefly(file) && ends_inside_a_line(file, full))
      write_all("append", file, full, {&new_line, 1});
    write_all("append", file, full, lines.bytes());
    file.close("append", full);
  };
  co_await env_.work(Work::Io, Elements(lines.size.value()), call);
}

// REQUIRES: `call` is a literal.
Task<void> PosixFiles::put(std::string_view call, int flags, std::string path, ConstBuf content) {
  SHOAL_CHECK(!content.phantom(), "a phantom of {} bytes was written to {}", content.size, path);
  const fs::path full = below_root(path);
  const std::span<const std::byte> bytes = content.bytes();
  Descriptor file;
  std::size_t at = 0;
  do {
    const std::size_t n = std::min(kSliceBytes, bytes.size() - at);
    auto slice = [&] {
      if (at == 0) {
        make_folder(full.parent_path());
        file.open(call, full, O_WRONLY | O_CREAT | flags);
      }
      write_all(call, file, full, bytes.subspan(at, n));
      if (at + n == bytes.size()) file.close(call, full);
    };
    co_await env_.work(Work::Io, Elements(n), slice);
    at += n;
  } while (at < bytes.size());
}

Task<std::vector<std::byte>> PosixFiles::read(std::string path) {
  const fs::path full = below_root(path);
  std::vector<std::byte> bytes;
  Descriptor file;
  bool at_end = false;
  while (!at_end) {
    auto slice = [&] {
      const std::size_t at = bytes.size();
      if (at == 0) {
        file.open("read", full, O_RDONLY);
        struct stat status {};
        if (::fstat(file.get(), &status) != 0) fail("read", full, errno);
        // One byte more, to see the end of the file at once.
        bytes.reserve(static_cast<std::size_t>(status.st_size) + 1);
      }
      bytes.resize(std::max(at + 1, std::min(at + kSliceBytes, bytes.capacity())));
      const std::size_t n = read_all(file, full, std::span(bytes).subspan(at));
      at_end = at + n < bytes.size();
      bytes.resize(at + n);
    };
    co_await env_.work(Work::Io, Elements(kSliceBytes), slice);
  }
  co_return bytes;
}

Task<void> PosixFiles::sync(std::string path) {
  const fs::path full = below_root(path);
  auto call = [&] { sync_now(full); };
  co_await env_.work(Work::Io, Elements(0), call);
}

Task<void> PosixFiles::rename(std::string from, std::string to) {
  const fs::path source = below_root(from);
  const fs::path target = below_root(to);
  auto call = [&] {
    make_folder(target.parent_path());
    if (::rename(source.c_str(), target.c_str()) != 0)
      fail("rename to " + target.string() + " of", source, errno);
  };
  co_await env_.work(Work::Io, Elements(0), call);
}

Task<void> PosixFiles::remove(std::string path) {
  const fs::path full = below_root(path);
  if (full == root_)
    throw DataError(fmt::format("remove {}: this is the job's folder itself", full.string()));
  auto call = [&] {
    std::error_code error;
    fs::remove_all(full, error);  // links are removed, not followed
    if (error) fail("remove", full, error.value());
  };
  co_await env_.work(Work::Io, Elements(0), call);
}

Task<std::vector<std::string>> PosixFiles::list(std::string folder) {
  const fs::path full = below_root(folder);
  std::vector<std::string> names;
  auto call = [&] {
    std::error_code error;
    fs::directory_iterator entry(full, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error))
      names.push_back(entry->path().filename().string());
    if (error && error != std::errc::no_such_file_or_directory) fail("list", full, error.value());
    std::ranges::sort(names);
  };
  co_await env_.work(Work::Io, Elements(0), call);
  co_return names;
}

}  // namespace shoal
