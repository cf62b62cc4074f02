// The handshake of a control link: both sides say hello, then each proves that it knows the job's
// token, by an HMAC over both nonces. The token itself never travels, and a proof is good for one
// link and one side of it only.
//
//   both:      magic (8), version (4), nonce (32)
//   both:      HMAC-SHA256(token, role, nonce of the connector, nonce of the listener, version)
//   (32)
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
  void begin(TcpStream& stream);  // says hello
  // Takes what has arrived; to be called whenever something has.
  State advance(TcpStream& stream);
  State state() const { return state_; }
  const std::string& why() const { return why_; }  // Failed: what is wrong with the other side

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
