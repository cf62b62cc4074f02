// JobToken: the job's secret. A joining process proves that it knows the token; the token is never
// sent or printed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shoal {

// Thread safety: that of a value.
class JobToken {
 public:
  static JobToken random();  // from the system's random numbers
  // Parses the form of hex(); throws ConfigError, which does not repeat the digits.
  static JobToken from_hex(std::string_view hex);
  std::string hex() const;  // to pass to a child in a way that others cannot read

  using Proof = std::array<std::uint8_t, 32>;
  Proof prove(std::string_view message) const;  // HMAC-SHA256
  bool proves(std::string_view message, std::span<const std::uint8_t> proof) const;

 private:
  JobToken() = default;
  std::array<std::uint8_t, 32> bytes_{};
};

}  // namespace shoal
