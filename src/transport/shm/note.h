// The messages over the Unix socket of a connection: the greeting, and news of regions.
//
//   receiver                            sender
//            <-------- connects --------
//            ---- Challenge, nonce ---->
//            <---- Hello, nonce, mac ---   lane, doorbell
//            ---- Welcome, mac -------->   answers, doorbell        or Refusal, why
//            <---- Region, Region, Gone     memory of the region
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "transport/shm/address.h"
#include "transport/shm/memory.h"
#include "transport/wire/carrier.h"

namespace shoal::shm {

enum class NoteKind : std::uint16_t { Challenge = 1, Hello, Welcome, Refusal, Region, Gone };

using Nonce = std::array<std::uint8_t, 32>;
using Mac = std::array<std::uint8_t, 32>;

struct Note {
  std::uint32_t magic = 0x4D48'5353;  // "SSHM"
  std::uint16_t version = kShmVersion;
  NoteKind kind{};
  std::uint32_t from_node = 0;
  std::uint32_t from_incarnation = 0;
  std::uint32_t to_node = 0;
  std::uint32_t to_incarnation = 0;
  std::uint64_t region = 0;
  Nonce nonce{};
  Mac mac{};
  std::array<char, 256> text{};  // the reason, ending with 0

  LifeId from() const { return {NodeId(from_node), Incarnation(from_incarnation)}; }
  LifeId to() const { return {NodeId(to_node), Incarnation(to_incarnation)}; }
};
static_assert(std::is_trivially_copyable_v<Note> && sizeof(Note) == 352);

Note make_note(NoteKind kind, LifeId from, LifeId to);
Note make_refusal(std::string_view why);
std::string text_of(const Note& note);

Nonce fresh_nonce();
// Proves knowledge of the key: HMAC-SHA256 over the kind, both nonces and both incarnations.
Mac mac_of(const std::string& key, const Note& note, const Nonce& challenge, const Nonce& hello);
bool same_mac(const Mac& a, const Mac& b);

// ---- Sockets, all of them non-blocking

UniqueFd listen_at(const std::string& name);  // throws Error
UniqueFd make_socket();                       // throws Error
// 0, or the error: EAGAIN if the listener's queue is full; try again.
int connect_to(const UniqueFd& socket, const std::string& name);

struct Other {
  std::uint32_t uid = 0;
  int pid = 0;
};
Other other_end(const UniqueFd& socket);

enum class Sent : std::uint8_t { Yes, Full, Broken };
Sent send_note(const UniqueFd& socket, const Note& note, std::span<const int> descriptors = {});

enum class Got : std::uint8_t { Note, Nothing, End, Nonsense };
struct ReceivedNote {
  Got got = Got::Nothing;
  Note note;
  std::vector<UniqueFd> descriptors;
  std::string why;  // for End and Nonsense
};
ReceivedNote receive_note(const UniqueFd& socket);

// A doorbell is an event descriptor; ringing it never blocks.
UniqueFd make_doorbell();
bool is_doorbell(const UniqueFd& descriptor);
void ring(const UniqueFd& doorbell);

}  // namespace shoal::shm
