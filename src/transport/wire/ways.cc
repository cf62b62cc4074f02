#include "transport/wire/ways.h"

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"

namespace shoal {
namespace {

std::string to_hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

[[noreturn]] void corrupt(const std::string& text) {
  throw Corrupt(fmt::format("'{}' is not a list of contacts; expected name=hex,name=hex",
                            text.substr(0, 100)));
}

}  // namespace

std::string encode_ways(const Ways& ways) {
  std::string text;
  for (const auto& [name, bytes] : ways) {
    if (!text.empty()) text += ',';
    text += name + '=' + to_hex(bytes);
  }
  return text;
}

Ways decode_ways(const std::string& text) {
  Ways ways;
  std::string_view left = text;
  while (!left.empty()) {
    const std::string_view item = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0 || (item.size() - equals) % 2 == 0)
      corrupt(text);
    std::string bytes;
    for (std::size_t i = equals + 1; i + 1 < item.size(); i += 2) {
      const int high = digit(item[i]);
      const int low = digit(item[i + 1]);
      if (high < 0 || low < 0) corrupt(text);
      bytes += static_cast<char>(high * 16 + low);
    }
    if (!ways.emplace(item.substr(0, equals), std::move(bytes)).second) corrupt(text);
  }
  return ways;
}

}  // namespace shoal
