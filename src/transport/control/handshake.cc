#include "transport/control/handshake.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace shoal {
namespace {

constexpr std::string_view kMagic = "SHOALctl";
constexpr std::size_t kVersionSize = 4;
constexpr std::size_t kNonceSize = 32;
constexpr std::size_t kHelloSize = kMagic.size() + kVersionSize + kNonceSize;

std::string bytes_of(std::uint32_t number) {
  std::string bytes;
  for (unsigned i = 0; i < kVersionSize; ++i)
    bytes.push_back(static_cast<char>(number >> (8 * i) & 0xffU));
  return bytes;
}

std::uint32_t number_of(std::string_view bytes) {
  std::uint32_t number = 0;
  for (unsigned i = 0; i < kVersionSize; ++i)
    number |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return number;
}

}  // namespace

Handshake::Handshake(const JobToken& token, HandshakeRole role, std::uint32_t version)
    : token_(token), role_(role), version_(version) {
  const ssize_t n = getrandom(nonce_.data(), nonce_.size(), 0);
  SHOAL_CHECK(n == static_cast<ssize_t>(nonce_.size()), "getrandom: {}", std::strerror(errno));
}

void Handshake::begin(TcpStream& stream) {
  stream.write(std::string(kMagic) + bytes_of(version_) +
               std::string(nonce_.data(), nonce_.size()));
}

std::string Handshake::message(HandshakeRole of) const {
  const bool connects = role_ == HandshakeRole::Connector;
  const std::array<char, 32>& first = connects ? nonce_ : other_nonce_;
  const std::array<char, 32>& second = connects ? other_nonce_ : nonce_;
  std::string text = of == HandshakeRole::Connector ? "shoal connects" : "shoal listens";
  text.append(first.data(), first.size());
  text.append(second.data(), second.size());
  return text + bytes_of(version_);
}

Handshake::State Handshake::fail(std::string why) {
  why_ = std::move(why);
  return state_ = State::Failed;
}

Handshake::State Handshake::advance(TcpStream& stream) {
  if (state_ == State::Hello) {
    const std::string_view hello = stream.arrived();
    const std::size_t known = std::min(hello.size(), kMagic.size());
    // A greeting that begins wrongly is refused without waiting for the rest.
    if (hello.substr(0, known) != kMagic.substr(0, known))
      return fail("it does not speak shoal's control protocol");
    if (hello.size() < kHelloSize) return state_;
    const std::uint32_t version = number_of(hello.substr(kMagic.size()));
    if (version != version_)
      return fail(
          fmt::format("it speaks version {} of the control protocol, this process version "
                      "{}: run the same version of shoal everywhere",
                      version, version_));
    std::ranges::copy(hello.substr(kMagic.size() + kVersionSize, kNonceSize), other_nonce_.begin());
    stream.take(kHelloSize);
    const JobToken::Proof proof = token_.prove(message(role_));
    stream.write({reinterpret_cast<const char*>(proof.data()), proof.size()});
    state_ = State::Proof;
  }
  if (state_ == State::Proof && stream.arrived().size() >= JobToken::Proof().size()) {
    const HandshakeRole other =
        role_ == HandshakeRole::Connector ? HandshakeRole::Listener : HandshakeRole::Connector;
    const std::string_view proof = stream.arrived().substr(0, JobToken::Proof().size());
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(proof.data()), proof.size());
    if (!token_.proves(message(other), bytes))
      return fail(
          "it has another token: it belongs to another job, or one of the two was started without "
          "the token that the launcher passes on");
    stream.take(proof.size());
    state_ = State::Done;
  }
  return state_;
}

}  // namespace shoal
