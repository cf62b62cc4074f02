#include "base/parse.h"

#include <fmt/core.h>

#include <charconv>
#include <system_error>

#include "base/error.h"

namespace shoal {
namespace {

[[noreturn]] void refuse(std::string_view flag, std::string_view text, std::string_view expected) {
  constexpr std::size_t kShownMax = 200;
  throw ConfigError(fmt::format("{} {}: expected {}", flag, text.substr(0, kShownMax), expected));
}

}  // namespace

template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text, NumberRange<Number> range) {
  const std::optional<Number> number = take_number<Number>(text);
  if (!number || !text.empty() || !range.contains(*number)) return std::nullopt;
  return number;
}

template <class Number>
Number require_number(std::string_view flag, std::string_view text, std::string_view expected,
                      NumberRange<Number> range) {
  const std::optional<Number> number = parse_number(text, range);
  if (!number) refuse(flag, text, expected);
  return *number;
}

template <class Number>
std::vector<Number> require_numbers(std::string_view flag, std::string_view text,
                                    std::string_view expected, NumberRange<Number> range) {
  std::vector<Number> numbers;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::optional<Number> number = parse_number(rest.substr(0, comma), range);
    if (!number) refuse(flag, text, expected);
    numbers.push_back(*number);
    if (comma == std::string_view::npos) return numbers;
    rest.remove_prefix(comma + 1);
  }
}

// The types of number in use, so that only this file includes <charconv>.
#define SHOAL_PARSES(Number)                                                           \
  template std::optional<Number> take_number(std::string_view&);                       \
  template std::optional<Number> parse_number(std::string_view, NumberRange<Number>);  \
  template Number require_number(std::string_view, std::string_view, std::string_view, \
                                 NumberRange<Number>);                                 \
  template std::vector<Number> require_numbers(std::string_view, std::string_view,     \
                                               std::string_view, NumberRange<Number>);
SHOAL_PARSES(std::uint16_t)
SHOAL_PARSES(std::int32_t)
SHOAL_PARSES(std::uint32_t)
SHOAL_PARSES(std::int64_t)
SHOAL_PARSES(std::uint64_t)
SHOAL_PARSES(double)
#undef SHOAL_PARSES

}  // namespace shoal
