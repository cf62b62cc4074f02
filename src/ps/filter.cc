#include "ps/filter.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/nearest.h"

namespace shoal {
namespace {

constexpr std::array<std::string_view, 4> kFilters = {"none", "significant", "magnitude", "fifo"};
constexpr double kBurstSeconds = 0.1;
constexpr double kBurstMin = 64;  // bytes: a push of one number needs less

// From the front of `rest`, which it shortens. False: it is no number.
bool take_number(std::string_view& rest, double& n) {
  const std::string_view one = rest.substr(0, rest.find(':'));
  rest = one.size() == rest.size() ? "" : rest.substr(one.size() + 1);
  const char* const end = one.data() + one.size();
  const auto [stopped, error] = std::from_chars(one.data(), end, n);
  return error == std::errc{} && stopped == end && std::isfinite(n);
}

}  // namespace

Filter parse_filter(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  std::string_view rest = name.size() == text.size() ? "" : text.substr(name.size() + 1);
  const auto it = std::ranges::find(kFilters, name);
  if (it == kFilters.end())
    throw ConfigError(
        fmt::format("--filter {}: this is not known. {}", text,
                    suggest(name, std::vector<std::string>(kFilters.begin(), kFilters.end()))));
  const auto require = [&](bool fine, const std::string& needed) {
    if (!fine) throw ConfigError(fmt::format("--filter {}: needed is {}", text, needed));
  };
  Filter f{static_cast<Filter::Kind>(it - kFilters.begin())};
  if (f.kind == Filter::Kind::None) {
    require(name.size() == text.size(), "none, without a number");
  } else if (f.kind == Filter::Kind::Significant) {
    require(take_number(rest, f.threshold) && f.threshold >= 0 && rest.empty(),
            "significant:V, V from 0 on, as in significant:0.01");
  } else {
    const std::string form = fmt::format(
        "{}:RATE or {}:RATE:BURST, in bytes a second, above 0, "
        "and bytes, as in {}:1000000:50000",
        name, name, name);
    require(take_number(rest, f.rate) && f.rate > 0, form);
    f.burst = std::max(f.rate * kBurstSeconds, kBurstMin);
    if (!rest.empty() || text.ends_with(':'))
      require(take_number(rest, f.burst) && f.burst >= kBurstMin && rest.empty(),
              fmt::format("{}; a burst has {} bytes at least", form, kBurstMin));
  }
  return f;
}

std::string to_string(const Filter& f) {
  const std::string_view name = kFilters[static_cast<std::size_t>(f.kind)];
  if (f.kind == Filter::Kind::None) return std::string(name);
  if (f.kind == Filter::Kind::Significant) return fmt::format("{}:{}", name, f.threshold);
  if (f.burst == std::max(f.rate * kBurstSeconds, kBurstMin))
    return fmt::format("{}:{}", name, f.rate);
  return fmt::format("{}:{}:{}", name, f.rate, f.burst);
}

void Budget::advance(Time now) {
  left_ = std::min(burst_, left_ + rate_ * seconds(now - at_));
  at_ = now;
}

Bytes Budget::left(Time now) {
  advance(now);
  return Bytes(static_cast<std::uint64_t>(left_));
}

void Budget::spend(Time now, Bytes bytes) {
  advance(now);
  SHOAL_CHECK_LE(bytes.value(), static_cast<std::uint64_t>(left_), "more than the budget has");
  left_ -= static_cast<double>(bytes.value());
}

Duration Budget::until(Time now, Bytes bytes) {
  advance(now);
  // A byte more, so that rounding never leaves one too few.
  const double wanted = std::min(burst_, static_cast<double>(bytes.value()) + 1);
  if (left_ >= wanted) return Duration(0);
  return from_seconds((wanted - left_) / rate_) + Duration(1);
}

}  // namespace shoal
