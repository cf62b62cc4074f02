// JobToken: the job's secret. Whoever joins proves that it knows it; it is never sent or printed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shoal {

// Thread safety: as a value's.
class JobToken {
 public:
  static JobToken random();  // from the system
  // 64 hexadecimal digits, as hex() gives them; throws ConfigError, which does not repeat them.
  static JobToken from_hex(std::string_view hex);
  std::string hex() const;  // to hand to a child, by a way that nobody else can read

  using Proof = std::array<std::uint8_t, 32>;
  Proof prove(std::string_view message) const;  // HMAC-SHA256
  bool proves(std::string_view message, std::span<const std::uint8_t> proof) const;

 private:
  JobToken() = default;
  std::array<std::uint8_t, 32> bytes_{};
};

}  // namespace shoal
