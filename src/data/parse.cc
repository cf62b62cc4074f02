#include "data/parse.h"

#include <algorithm>
#include <cmath>

#include "base/nearest.h"
#include "base/parse.h"

namespace shoal {
namespace {

constexpr std::size_t kShownMax = 40;

template <class Number>
std::optional<Number> read(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const std::optional<Number> number = take_number<Number>(text);
  return text.empty() ? number : std::nullopt;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<double> read_number(std::string_view text) { return read<double>(text); }
std::optional<std::uint64_t> read_count(std::string_view text) { return read<std::uint64_t>(text); }

std::string shown(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, kShownMax)) {
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + (text.size() > kShownMax ? "...'" : "'");
}

std::optional<std::string> float_objection(std::string_view text, double& value) {
  const std::optional<double> number = read_number(text);
  if (!number) return fmt::format("{} is not a number", shown(text));
  if (!std::isfinite(*number)) return fmt::format("{} cannot be learned from", shown(text));
  if (std::abs(*number) > std::numeric_limits<float>::max())
    return fmt::format("{} does not fit a 32-bit number", shown(text));
  value = *number;
  return {};
}

SpecKeys::SpecKeys(std::string of, std::string_view text, char separator) : of_(std::move(of)) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      throw ConfigError(fmt::format("{}: {} does not have the form key=value", of_, shown(part)));
    const std::string key(part.substr(0, equals));
    if (!values_.emplace(key, part.substr(equals + 1)).second)
      throw ConfigError(fmt::format("{}: {} is given twice", of_, shown(key)));
  }
}

std::optional<std::string> SpecKeys::word(const std::string& key) {
  asked_.push_back(key);
  const auto found = values_.find(key);
  if (found == values_.end()) return {};
  return found->second;
}

std::uint64_t SpecKeys::count(const std::string& key, std::uint64_t otherwise, std::uint64_t lo,
                              std::uint64_t hi) {
  const std::optional<std::string> text = word(key);
  if (!text) return otherwise;
  const std::optional<std::uint64_t> value = read_count(*text);
  if (!value || *value < lo || *value > hi)
    throw ConfigError(fmt::format("{}: {} is {}; it must be an integer in {} .. {}", of_, key,
                                  shown(*text), lo, hi));
  return *value;
}

double SpecKeys::number(const std::string& key, double otherwise, double lo, double hi) {
  const std::optional<std::string> text = word(key);
  if (!text) return otherwise;
  const std::optional<double> value = read_number(*text);
  if (!value || !(*value >= lo && *value <= hi))
    throw ConfigError(fmt::format("{}: {} is {}; it must be a number in {} .. {}", of_, key,
                                  shown(*text), lo, hi));
  return *value;
}

void SpecKeys::finish() const {
  for (const auto& [key, value] : values_)
    if (std::ranges::find(asked_, key) == asked_.end())
      throw ConfigError(
          fmt::format("{} has no option {}. {}", of_, shown(key), suggest(key, asked_)));
}

FileSpec split_file_spec(std::string_view rest) {
  std::size_t end = rest.size();
  for (std::size_t colon = rest.rfind(':'); colon != std::string_view::npos && colon > 0;
       colon = rest.rfind(':', colon - 1)) {
    if (rest.substr(colon, end - colon).find('=') == std::string_view::npos) break;
    end = colon;
  }
  return {std::string(rest.substr(0, end)), rest.substr(std::min(end + 1, rest.size()))};
}

}  // namespace shoal
