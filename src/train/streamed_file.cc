#include "train/streamed_file.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

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
  // Taken out first: if the append fails, nobody knows how much of it is there.
  std::string text = std::exchange(waiting_, {});
  if (!std::exchange(tail_is_known_, false) && kind_ == Kind::Lines) {
    bool torn = co_await ends_inside_a_line();
    // Or another node was writing it just then.
    if (torn) torn = co_await ends_inside_a_line();
    if (torn) text.insert(0, 1, '\n');
  }
  co_await files_.append(path_, const_buf(std::span<const char>(text)));
  tail_is_known_ = true;
}

Task<void> StreamedFile::close() {
  co_await flush();
  if (tail_is_known_) co_await files_.sync(path_);
}

Task<bool> StreamedFile::ends_inside_a_line() {
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path_.substr(0, slash);
  const std::string name = slash == std::string::npos ? path_ : path_.substr(slash + 1);
  const std::vector<std::string> names = co_await files_.list(folder);
  if (std::ranges::find(names, name) == names.end()) co_return false;
  const std::vector<std::byte> content = co_await files_.read(path_);
  co_return !content.empty() && content.back() != std::byte{'\n'};
}

}  // namespace shoal
