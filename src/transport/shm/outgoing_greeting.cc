// How an Outgoing connects, and how it ends.
#include <fmt/core.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/error.h"
#include "transport/shm/outgoing.h"

namespace shoal::shm {

Outgoing::Outgoing(Core& core, LifeId peer, std::string socket_name)
    : core_(&core),
      peer_(peer),
      socket_name_(std::move(socket_name)),
      socket_(make_socket()),
      memory_("shoal-lane", Bytes(lane_size(core.options.slots, core.options.eager_ring))),
      eager_end_(core.options.slots) {
  auto* head = new (memory_.data()) LaneHead{};
  head->shape = {kLaneMagic, kShmVersion, core.options.slots, core.options.eager_ring};
  dial();
}

// Staged payloads stay readable, so that a peer gets every message that was sent; payloads in
// memory that may now be overwritten do not.
Outgoing::~Outgoing() {
  if (watched_) core_->loop->unwatch(socket_.get());
  for (const auto& [number, way] : flights_)
    if (way.flight != nullptr) lane().let_go.store(1, std::memory_order_seq_cst);
}

void Outgoing::fail(std::string why) {
  if (!broken_.empty()) return;
  broken_ = std::move(why);
  core_->news = true;
}

void Outgoing::dial() {
  const int error = connect_to(socket_, socket_name_);
  if (error == EAGAIN || error == EINTR) return core_->retry_soon();
  if (error != 0)
    return fail(fmt::format("@{}: {}; its process has ended", socket_name_, std::strerror(error)));
  // The listener's user at the time when it began to listen.
  if (const Other other = other_end(socket_); other.uid != geteuid())
    return fail(
        fmt::format("it is a process of user {}, we are user {}; run all processes of a "
                    "job as the same user",
                    other.uid, geteuid()));
  state_ = State::Greeting;
  core_->loop->watch(socket_.get(), [this] { on_readable(); });
  watched_ = true;
}

void Outgoing::retry() {
  if (!broken_.empty()) return;
  if (state_ == State::Dialing) return dial();
  if (state_ != State::Open) return;
  flush_announcements();
  if (announcements_.empty() && blocked_ == Blocked::BySocket) blocked_ = Blocked::No;
}

void Outgoing::on_readable() {
  while (broken_.empty()) {
    ReceivedNote received = receive_note(socket_);
    if (received.got == Got::Nothing) return;
    if (received.got != Got::Note) return fail(std::move(received.why));
    const Note& note = received.note;
    if (note.kind == NoteKind::Refusal)
      fail(fmt::format("it refused the connection: {}", text_of(note)));
    else if (note.kind == NoteKind::Challenge && state_ == State::Greeting && !greeted_)
      greet(note);
    else if (note.kind == NoteKind::Welcome && state_ == State::Greeting && greeted_)
      welcome(note, std::move(received.descriptors));
    else
      fail(fmt::format("corrupt connection: a note of kind {} out of turn",
                       static_cast<unsigned>(note.kind)));
  }
}

void Outgoing::greet(const Note& challenge) {
  if (challenge.from() != peer_)
    return fail(
        fmt::format("at @{} is node {} in life {}, not node {} in life {}; its contact is "
                    "out of date",
                    socket_name_, challenge.from_node, challenge.from_incarnation, peer_.node,
                    peer_.incarnation));
  challenge_ = challenge.nonce;
  hello_ = fresh_nonce();
  Note hello = make_note(NoteKind::Hello, core_->self, peer_);
  hello.nonce = hello_;
  hello.mac = mac_of(core_->options.key, hello, challenge_, hello_);
  const std::array<int, 2> descriptors{memory_.descriptor(), core_->doorbell.get()};
  greeted_ = true;
  if (send_note(socket_, hello, descriptors) != Sent::Yes)
    fail(fmt::format("the greeting cannot be sent: {}", std::strerror(errno)));
}

void Outgoing::welcome(const Note& note, std::vector<UniqueFd> descriptors) {
  if (!same_mac(note.mac, mac_of(core_->options.key, note, challenge_, hello_)) ||
      note.from() != peer_ || note.to() != core_->self)
    return fail("its key differs from ours; start all processes of a job with the same secret");
  if (descriptors.size() != 2 || !is_doorbell(descriptors[1]))
    return fail("corrupt greeting: memory and doorbell are missing");
  try {
    answers_ = std::make_unique<const PeerMemory>(descriptors[0], "answers");
  } catch (const Corrupt& e) {
    return fail(e.what());
  }
  const Bytes size = answers_->size();
  if (size < Bytes(sizeof(AnswerHead))) return fail("corrupt answers: too small for their head");
  const auto shape = load_once<Shape>(answers_->data());
  if (shape.magic != kAnswerMagic || shape.version != kShmVersion ||
      !power_of_two_up_to(shape.slots, kSlotsMax) || size < Bytes(answers_size(shape.slots)))
    return fail(fmt::format("corrupt answers: magic {:#x}, version {}, {} slots in {} bytes",
                            shape.magic, shape.version, shape.slots, size));
  answer_slots_ = shape.slots;
  bell_ = std::move(descriptors[1]);
  state_ = State::Open;
}

void Outgoing::close(const std::string& why) {
  // In this order: a peer that finds let_go unset after reading a payload has read it unchanged.
  lane().let_go.store(1, std::memory_order_seq_cst);
  state_ = State::Closed;
  if (watched_) core_->loop->unwatch(socket_.get());
  watched_ = false;
  socket_.reset();
  for (Flight* flight : queue_) end(*flight, why);
  queue_.clear();
  if (front_) core_->pool.give(std::exchange(front_, {}));
  for (auto& [number, way] : flights_) {
    if (way.flight != nullptr) end(*way.flight, why);
    if (way.lease) core_->pool.give(std::move(way.lease));
  }
  flights_.clear();
  wanted_.clear();
}

}  // namespace shoal::shm
