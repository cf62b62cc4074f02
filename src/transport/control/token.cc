#include "transport/control/token.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/error.h"

namespace shoal {

JobToken JobToken::random() {
  JobToken token;
  const ssize_t n = getrandom(token.bytes_.data(), token.bytes_.size(), 0);
  SHOAL_CHECK(n == static_cast<ssize_t>(token.bytes_.size()), "getrandom: {}",
              std::strerror(errno));
  return token;
}

JobToken JobToken::from_hex(std::string_view hex) {
  JobToken token;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  bool good = hex.size() == 2 * token.bytes_.size();
  for (std::size_t i = 0; good && i < token.bytes_.size(); ++i) {
    const int high = digit(hex[2 * i]);
    const int low = digit(hex[2 * i + 1]);
    good = high >= 0 && low >= 0;
    token.bytes_[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  if (!good)
    throw ConfigError(fmt::format(
        "the job's token must be {} hexadecimal digits; the given one has {} characters. Pass on "
        "the token that the launcher has made",
        2 * token.bytes_.size(), hex.size()));
  return token;
}

std::string JobToken::hex() const {
  std::string text;
  for (const std::uint8_t byte : bytes_) text += fmt::format("{:02x}", byte);
  return text;
}

JobToken::Proof JobToken::prove(std::string_view message) const {
  Proof proof{};
  unsigned size = 0;
  const unsigned char* const made = HMAC(
      EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()),
      reinterpret_cast<const unsigned char*>(message.data()), message.size(), proof.data(), &size);
  SHOAL_CHECK(made != nullptr && size == proof.size(), "HMAC-SHA256 is not available");
  return proof;
}

bool JobToken::proves(std::string_view message, std::span<const std::uint8_t> proof) const {
  const Proof expected = prove(message);
  return proof.size() == expected.size() &&
         CRYPTO_memcmp(proof.data(), expected.data(), expected.size()) == 0;
}

}  // namespace shoal
