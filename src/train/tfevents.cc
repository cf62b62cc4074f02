#include "train/tfevents.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>

namespace shoal {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kCrcTable = crc_table();

// A checksum of data that contains checksums would be weak; TensorFlow rotates and shifts it.
std::uint32_t masked(std::uint32_t crc) { return std::rotr(crc, 15) + 0xA282EAD8U; }

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (unsigned i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xffU);
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>(value | 0x80U);
  return bytes + static_cast<char>(value);
}

// The field types that we need, in the encoding of protocol buffers.
std::string number_field(unsigned field, std::uint64_t value) {
  return varint(field << 3U) + varint(value);
}
std::string double_field(unsigned field, double value) {
  return varint(field << 3U | 1U) + little_endian(std::bit_cast<std::uint64_t>(value));
}
std::string bytes_field(unsigned field, std::string_view bytes) {
  return varint(field << 3U | 2U) + varint(bytes.size()).append(bytes);
}
std::string float_field(unsigned field, float value) {
  return varint(field << 3U | 5U) + little_endian(std::bit_cast<std::uint32_t>(value));
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes)
    crc = crc >> 8U ^ kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xffU];
  return ~crc;
}

std::string tfrecord(std::string_view data) {
  const std::string length = little_endian(static_cast<std::uint64_t>(data.size()));
  return length + little_endian(masked(crc32c(length))) + std::string(data) +
         little_endian(masked(crc32c(data)));
}

std::string tfevents_start(double wall_s) {
  return tfrecord(double_field(1, wall_s) + bytes_field(3, "brain.Event:2"));
}

std::string tfevents_record(double wall_s, Step step, std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars)
    summary += bytes_field(1, bytes_field(1, scalar.tag) + float_field(2, scalar.value));
  return tfrecord(double_field(1, wall_s) + number_field(2, step.value()) +
                  bytes_field(5, summary));
}

std::string tfevents_name(double wall_s, std::string_view host) {
  std::string name = fmt::format("events.out.tfevents.{:010.0f}.{}", wall_s, host);
  std::ranges::replace(name, '/', '_');
  return name;
}

TensorBoardLog::TensorBoardLog(Files& files, std::string_view folder, std::string_view host,
                               double wall_start_s, Time now)
    : wall_start_s_(wall_start_s),
      file_(files,
            fmt::format("{}{}{}", folder, folder.empty() ? "" : "/",
                        tfevents_name(wall_start_s + seconds(now), host)),
            StreamedFile::Kind::Records) {}

Task<void> TensorBoardLog::add(Time now, Step step, std::span<const Scalar> scalars) {
  const double wall_s = wall_start_s_ + seconds(now);
  std::string text;
  if (!started_) text = tfevents_start(wall_s);
  started_ = true;
  text += tfevents_record(wall_s, step, scalars);
  co_await file_.add(text, now);
}

}  // namespace shoal
