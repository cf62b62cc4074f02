// Filter: what of its gradients a worker pushes now. The rest waits at the worker, where it adds up
// with what comes later (ps/partial_push.h).
//
//   text form              goes now                                  source
//   none                   everything
//   significant:V          what would change its parameter by more   Hsieh et al., NSDI 2017 (Gaia)
//                          than V / sqrt(t) of what that is now
//   magnitude:RATE:BURST   as many as a budget of bytes allows; what  Wei et al., SoCC 2015 (Bosen)
//                          would change its parameter most, relative
//                          to what that is now, first
//   fifo:RATE:BURST        the same, all in turn
//
// Symbols: t, pushes of the worker with this one; RATE, bytes a second; BURST, bytes that may be
// saved up while nothing is pushed, a tenth of a second's if it is left away.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types.h"

namespace shoal {

struct Filter {
  enum class Kind : std::uint8_t { None, Significant, Magnitude, Fifo };

  Kind kind = Kind::None;
  double threshold = 0;  // V
  double rate = 0;
  double burst = 0;

  bool has_budget() const { return kind == Kind::Magnitude || kind == Kind::Fifo; }
  bool operator==(const Filter&) const = default;
};

// Throws ConfigError, with what is allowed, for anything else than the forms above.
Filter parse_filter(std::string_view text);
std::string to_string(const Filter& filter);

// A token bucket: over any time, no more is spent than rate x time + burst.
class Budget {
 public:
  explicit Budget(const Filter& filter) : rate_(filter.rate), burst_(filter.burst), left_(burst_) {}

  Bytes left(Time now);
  // REQUIRES: no more than is left.
  void spend(Time now, Bytes bytes);
  // Until so many bytes are left, or all that can be saved up.
  Duration until(Time now, Bytes bytes);

 private:
  void advance(Time now);

  double rate_, burst_;
  double left_;
  Time at_{};
};

}  // namespace shoal
