// Decides which processes may connect to a ShmCarrier: those of our user that have the key, with an
// incarnation that was not closed before.
#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "transport/shm/carrier_impl.h"

namespace shoal::shm {
namespace {

// Long, because one of our processes may be busy or stopped meanwhile, and a refusal would lose it.
// It only limits the stay of silent processes.
constexpr auto kGreetingTime = std::chrono::seconds(60);

}  // namespace

void ShmCarrier::accept_all() {
  while (true) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
      // Out of descriptors: the listener would stay readable forever.
      core_.loop->unwatch(listener_.get());
      listening_ = false;
      return core_.retry_soon();
    }
    if (const Other other = other_end(socket); other.uid != geteuid()) {
      refuse(socket, fmt::format("user {} is not user {}; run all processes of a job as the same "
                                 "user",
                                 other.uid, geteuid()));
      continue;
    }
    Note note = make_note(NoteKind::Challenge, core_.self, {});
    note.nonce = fresh_nonce();
    if (send_note(socket, note) != Sent::Yes) continue;
    const int descriptor = socket.get();
    Stranger& stranger = strangers_[descriptor];
    stranger.socket = std::move(socket);
    stranger.challenge = note.nonce;
    stranger.deadline = core_.loop->at(core_.loop->now() + kGreetingTime, [this, descriptor] {
      strangers_.at(descriptor).deadline = nullptr;
      const UniqueFd silent = forget_stranger(descriptor);
      refuse(silent, "no greeting came");
    });
    core_.loop->watch(descriptor, [this, descriptor] { on_hello(descriptor); });
  }
}

UniqueFd ShmCarrier::forget_stranger(int descriptor) {
  core_.loop->unwatch(descriptor);
  auto node = strangers_.extract(descriptor);
  if (node.mapped().deadline != nullptr) core_.loop->cancel(node.mapped().deadline);
  return std::move(node.mapped().socket);
}

void ShmCarrier::refuse(const UniqueFd& socket, const std::string& why) {
  ++core_.stats.refused;
  send_note(socket, make_refusal(why));  // it may not receive the reason
}

void ShmCarrier::on_hello(int descriptor) {
  const Stranger& stranger = strangers_.at(descriptor);
  ReceivedNote received = receive_note(stranger.socket);
  if (received.got == Got::Nothing) return;
  std::string why = received.why;
  if (received.got == Got::Note) why = why_not(received.note, received.descriptors, stranger);
  const Nonce challenge = stranger.challenge;
  UniqueFd socket = forget_stranger(descriptor);
  if (received.got == Got::End) return;
  if (!why.empty()) return refuse(socket, why);
  admit(received.note, std::move(socket), std::move(received.descriptors), challenge);
}

std::string ShmCarrier::why_not(const Note& note, const std::vector<UniqueFd>& descriptors,
                                const Stranger& stranger) const {
  if (note.kind != NoteKind::Hello) return "the greeting is malformed";
  if (note.to() != core_.self)
    return fmt::format(
        "this is node {} in life {}, not node {} in life {}; the contact is out of "
        "date",
        core_.self.node, core_.self.incarnation, note.to_node, note.to_incarnation);
  if (!same_mac(note.mac, mac_of(core_.options.key, note, stranger.challenge, note.nonce)))
    return "its key differs from ours; start all processes of a job with the same secret";
  if (descriptors.size() != 2 || !is_doorbell(descriptors[1]))
    return "corrupt greeting: memory and doorbell are missing";
  const auto gone = gone_.find(note.from().node);
  if (gone != gone_.end() && note.from().incarnation <= gone->second.incarnation)
    return fmt::format("life {} of node {} has ended here: {}", note.from_incarnation,
                       note.from_node, gone->second.why);
  const auto peer = peers_.find(note.from());
  if (peer != peers_.end() && peer->second.in != nullptr)
    return fmt::format("life {} of node {} is connected already", note.from_incarnation,
                       note.from_node);
  return {};
}

void ShmCarrier::admit(const Note& hello, UniqueFd socket, std::vector<UniqueFd> descriptors,
                       const Nonce& challenge) {
  const LifeId life = hello.from();
  try {
    auto in = std::make_unique<Incoming>(core_, life, std::move(socket), descriptors[0],
                                         std::move(descriptors[1]));
    Note note = make_note(NoteKind::Welcome, core_.self, life);
    note.mac = mac_of(core_.options.key, note, challenge, hello.nonce);
    const std::array<int, 2> ours{in->answers_descriptor(), core_.doorbell.get()};
    // If the welcome cannot be sent, the peer sees the end of the connection.
    if (send_note(in->socket(), note, ours) == Sent::Yes) peers_[life].in = std::move(in);
  } catch (const Error& e) {
    refuse(socket, e.what());
  }
}

}  // namespace shoal::shm
