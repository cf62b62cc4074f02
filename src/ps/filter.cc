#include "ps/filter.h"

#include <algorithm>

#include "base/check.h"

namespace shoal {

Filter parse_filter(std::string_view text) { return parse_choice<Filter>("--filter", text); }

std::string to_string(const Filter& f) { return choice_text(f); }

std::optional<Budget> budget_of(const Filter& f) {
  constexpr double kBurstSeconds = 0.1;
  return std::visit(
      [](const auto& chosen) -> std::optional<Budget> {
        if constexpr (requires { chosen.rate; }) {
          const double usual = std::max(chosen.rate * kBurstSeconds, filter::kBurstMin);
          return Budget(chosen.rate, chosen.burst == kAuto ? usual : chosen.burst);
        } else {
          return std::nullopt;
        }
      },
      f);
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
