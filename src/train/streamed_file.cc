#include "train/streamed_file.h"

#include <span>
#include <utility>

namespace shoal {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kWaitingMax = std::size_t{64} * 1024;
constexpr Duration kWaitMax = 1s;

}  // namespace

StreamedFile::StreamedFile(Files& files, std::string path, Kind kind)
    : files_(files), path_(std::move(path)), kind_(kind) {}

Task<void> StreamedFile::add(std::string_view text, Time now) {
  waiting_ += text;
  if (!last_) last_ = now;
  if (waiting_.size() < kWaitingMax && now - *last_ < kWaitMax) co_return;
  last_ = now;
  co_await flush();
}

Task<void> StreamedFile::flush() {
  if (waiting_.empty()) co_return;
  // Moved out first: if the append fails, it is unknown how much of it was written.
  std::string text = std::exchange(waiting_, {});
  const ConstBuf content = const_buf(std::span<const char>(text));
  if (kind_ == Kind::Lines) {
    co_await files_.append_lines(path_, content);
  } else {
    co_await files_.append(path_, content);
  }
  written_ = true;
}

Task<void> StreamedFile::close() {
  co_await flush();
  if (written_) co_await files_.sync(path_);
}

}  // namespace shoal
