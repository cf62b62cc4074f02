#include "checkpoint/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace shoal {
namespace {

EVP_MD_CTX* evp(void* context) { return static_cast<EVP_MD_CTX*>(context); }

}  // namespace

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(evp(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  SHOAL_CHECK(context_ != nullptr);
  SHOAL_CHECK_EQ(EVP_DigestInit_ex(evp(context_.get()), EVP_sha256(), nullptr), 1);
}

void Sha256::add(std::span<const std::byte> bytes) {
  SHOAL_CHECK_EQ(EVP_DigestUpdate(evp(context_.get()), bytes.data(), bytes.size()), 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  SHOAL_CHECK_EQ(EVP_DigestFinal_ex(evp(context_.get()), digest.data(), nullptr), 1);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

}  // namespace shoal
