#include "data/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace shoal {
namespace {

constexpr std::size_t kFirstBytes = std::size_t{1} << 16U;
constexpr int kGzipOnly = 16;  // added to the window bits: refuses zlib's own format

[[noreturn]] void refuse(const FileView& file, const z_stream& stream, std::string_view why) {
  throw DataError(fmt::format("{} is a damaged gzip file: {} at byte {} of {}. Get it again.",
                              file.path, why, file.bytes.size() - stream.avail_in,
                              file.bytes.size()));
}

struct End {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

}  // namespace

bool is_gzip(const FileView& file) {
  return file.bytes.size() >= 2 && file.bytes[0] == std::byte{0x1f} &&
         file.bytes[1] == std::byte{0x8b};
}

std::vector<std::byte> gunzip(const FileView& file, std::uint64_t most) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK)
    throw DataError(fmt::format("{}: zlib could not be started: out of memory?", file.path));
  const std::unique_ptr<z_stream, End> guard(&stream);
  // zlib counts in 32 bits, and takes its input as non-const.
  constexpr std::size_t kSlice = std::numeric_limits<uInt>::max();
  if (file.bytes.size() > kSlice) refuse(file, stream, "more than 4 GiB, unpack it first");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(file.bytes.data()));  // NOLINT
  stream.avail_in = static_cast<uInt>(file.bytes.size());

  std::vector<std::byte> out;
  std::size_t filled = 0;
  while (filled < most) {
    if (filled == out.size())
      out.resize(std::min<std::uint64_t>(most, std::max(kFirstBytes, 2 * out.size())));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
    const std::size_t room = std::min(kSlice, out.size() - filled);
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    filled += room - stream.avail_out;
    if (result == Z_STREAM_END) {
      if (stream.avail_in == 0) break;
      inflateReset(&stream);  // gzip files may be concatenated
    } else if (result == Z_BUF_ERROR ||
               (result == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)) {
      refuse(file, stream, "it ends too early");
    } else if (result != Z_OK) {
      refuse(file, stream, stream.msg == nullptr ? "damaged" : stream.msg);
    }
  }
  out.resize(filled);
  return out;
}

}  // namespace shoal
