// Numbers out of text, the same way for flags, files and messages: decimal digits without spaces,
// plus sign or locale, as std::from_chars reads them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace shoal {

// The values that are allowed; without bounds, every finite one that the type holds.
template <class Number>
struct NumberRange {
  Number least = std::numeric_limits<Number>::lowest();
  Number most = std::numeric_limits<Number>::max();

  bool contains(Number n) const { return n >= least && n <= most; }  // never NaN
};

// Cuts the number at the front of `text` off and returns it; it may be infinity or NaN. Returns
// nothing, and leaves `text` alone, where none is there or the type cannot hold it.
template <class Number>
std::optional<Number> take_number(std::string_view& text);

// The number that `text` is from its first character to its last, if it lies in `range`.
template <class Number>
std::optional<Number> parse_number(std::string_view text, NumberRange<Number> range = {});

// The same for settings; throws ConfigError "FLAG TEXT: expected EXPECTED".
template <class Number>
Number require_number(std::string_view flag, std::string_view text, std::string_view expected,
                      NumberRange<Number> range = {});

// Numbers with commas between them, at least one.
template <class Number>
std::vector<Number> require_numbers(std::string_view flag, std::string_view text,
                                    std::string_view expected, NumberRange<Number> range = {});

}  // namespace shoal
