// The handshake of a control link: both sides greet, then each proves by an HMAC over both nonces
// that it knows the job's token. The token itself is never sent, and a proof is valid for one link
// and one side only.
//
//   both:   magic (8), version (4), nonce (32)
//   both:   HMAC-SHA256(token, role, nonce of the connector, nonce of the listener, version) (32)
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "transport/control/stream.h"
#include "transport/control/token.h"

namespace shoal {

inline constexpr std::uint32_t kControlVersion = 1;  // of the handshake and the frames

enum class HandshakeRole : std::uint8_t { Connector, Listener };

// Thread safety: none.
class Handshake {
 public:
  Handshake(const JobToken& token, HandshakeRole role, std::uint32_t version);

  enum class State : std::uint8_t { Hello, Proof, Done, Failed };
  void begin(TcpStream& stream);  // sends the greeting
  // Processes the bytes that have arrived; call it whenever there are new ones.
  State advance(TcpStream& stream);
  State state() const { return state_; }
  const std::string& why() const { return why_; }  // Failed: the problem with the other side

 private:
  State fail(std::string why);
  std::string message(HandshakeRole of) const;

  JobToken token_;
  HandshakeRole role_;
  std::uint32_t version_;
  State state_ = State::Hello;
  std::array<char, 32> nonce_{};
  std::array<char, 32> other_nonce_{};
  std::string why_;
};

}  // namespace shoal
