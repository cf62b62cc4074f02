// Filter: which elements of its gradients a worker pushes now. The others wait at the worker, where
// later gradients are added to them (ps/partial_push.h).
//
//   text form              elements that are pushed now               source
//   none                   everything
//   significant:V          those that change their parameter by more  Hsieh et al., NSDI 2017
//                          than V / sqrt(t) of its value              (Gaia)
//   magnitude:RATE:BURST   as many as a budget of bytes allows, the   Wei et al., SoCC 2015 (Bosen)
//                          largest changes relative to the
//                          parameters first
//   fifo:RATE:BURST        as many as the budget allows, in turn
//
// Symbols: t, number of this push of the worker, from 1; RATE, bytes a second; BURST, the maximum
// of unused bytes, by default those of a tenth of a second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "base/choice.h"
#include "base/types.h"

namespace shoal {

// A token bucket: over any time, no more is spent than rate x time + burst.
class Budget {
 public:
  Budget(double rate, double burst) : rate_(rate), burst_(burst), left_(burst) {}

  Bytes left(Time now);
  // REQUIRES: bytes is at most left().
  void spend(Time now, Bytes bytes);
  // The time until that many bytes are available, at most BURST.
  Duration until(Time now, Bytes bytes);

 private:
  void advance(Time now);

  double rate_, burst_;
  double left_;
  Time at_{};
};

namespace filter {

inline constexpr double kBurstMin = 64;  // bytes: a push of one number needs less

// The parameters of a filter with a budget.
template <class Owner>
constexpr auto budget_parameters() {
  return std::tuple{
      Parameter{"rate", &Owner::rate, "bytes a second", {.above_least = true}, Print::Required},
      Parameter{"burst",
                &Owner::burst,
                "maximum of unused bytes",
                {.least = kBurstMin, .or_auto = true},
                Print::IfSet}};
}

struct None {
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kHelp = "everything is pushed";
  bool operator==(const None&) const = default;
};

struct Significant {
  static constexpr std::string_view kName = "significant";
  static constexpr std::string_view kHelp = "relative changes above V / sqrt(t)";
  double threshold = 0.01;
  static constexpr auto parameters() {
    return std::tuple{Parameter{
        "v", &Significant::threshold, "fraction of the parameter's value", {}, Print::Required}};
  }
  bool operator==(const Significant&) const = default;
};

struct Magnitude {
  static constexpr std::string_view kName = "magnitude";
  static constexpr std::string_view kHelp =
      "as many elements as the budget allows, the largest relative changes first";
  double rate = 1'000'000;
  double burst = kAuto;
  static constexpr auto parameters() { return budget_parameters<Magnitude>(); }
  bool operator==(const Magnitude&) const = default;
};

struct Fifo {
  static constexpr std::string_view kName = "fifo";
  static constexpr std::string_view kHelp = "as many elements as the budget allows, in turn";
  double rate = 1'000'000;
  double burst = kAuto;
  static constexpr auto parameters() { return budget_parameters<Fifo>(); }
  bool operator==(const Fifo&) const = default;
};

}  // namespace filter

using Filter = std::variant<filter::None, filter::Significant, filter::Magnitude, filter::Fifo>;

// For any other form, throws ConfigError with the allowed forms.
Filter parse_filter(std::string_view text);
std::string to_string(const Filter& filter);

// Whether elements may wait at the worker.
inline bool holds_back(const Filter& f) { return !std::holds_alternative<filter::None>(f); }

// The budget of a filter that has one.
std::optional<Budget> budget_of(const Filter& filter);

}  // namespace shoal
