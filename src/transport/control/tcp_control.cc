#include "transport/control/tcp_control.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "transport/control/sockets.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLengthSize = 4;
constexpr Duration kLinger = 1s;  // time for the other side to read the last messages and to close

std::string length_of(std::string_view message) {
  std::string bytes;
  for (unsigned i = 0; i < kLengthSize; ++i)
    bytes.push_back(static_cast<char>(message.size() >> (8 * i) & 0xffU));
  return bytes;
}

}  // namespace

class TcpControlNet::Link final : public ControlLink {
 public:
  Link(TcpControlNet& net, std::unique_ptr<TcpStream> stream)
      : net_(&net), stream_(std::move(stream)) {
    stream_->on_change([this] { changed_.notify_all(); });
  }
  ~Link() override { net_->close_gently(std::move(stream_)); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void send(std::string message) override {
    SHOAL_CHECK_LE(message.size(), kControlFrameMax, "a control message is too large");
    stream_->write(length_of(message) + message);
  }

  Task<std::string> receive() override {
    while (true) {
      std::optional<std::string> message = next();
      if (message) co_return std::move(*message);
      if (stream_->lost())
        throw LinkLost(fmt::format("the link to {} is lost: {}", peer(), stream_->why()));
      co_await changed_.wait();
    }
  }
  const std::string& peer() const override { return stream_->peer(); }

 private:
  // Takes a complete frame or nothing: receive() may be cancelled between two parts of a frame.
  std::optional<std::string> next() {
    std::optional<std::string> message;
    const std::string_view bytes = stream_->arrived();
    if (bytes.size() < kLengthSize) return message;
    std::uint64_t size = 0;
    for (unsigned i = 0; i < kLengthSize; ++i)
      size |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    if (size > kControlFrameMax) {
      stream_->lose(
          fmt::format("it sent a frame of {} bytes; the maximum is {}", size, kControlFrameMax));
      net_->say(fmt::format("dropped the link to {}: {}", peer(), stream_->why()));
      return message;
    }
    if (bytes.size() < kLengthSize + size) return message;
    message.emplace(bytes.substr(kLengthSize, size));
    stream_->take(kLengthSize + size);
    return message;
  }

  TcpControlNet* net_;
  std::unique_ptr<TcpStream> stream_;
  Signal changed_;
};

TcpControlNet::TcpControlNet(LiveLoop& loop, TcpControlOptions options)
    : loop_(&loop), options_(std::move(options)) {
  const std::string host = options_.advertise.empty() ? options_.listen : options_.advertise;
  if (is_wildcard(host))
    throw ConfigError(
        fmt::format("{} means all addresses of this machine; also give the one by which "
                    "the others reach it",
                    host));
  listening_ = listen_on(options_.listen, options_.port);
  address_ = join_address(host, port_of(listening_));
  loop_->watch(listening_, [this] { take_connections(); });
}

TcpControlNet::~TcpControlNet() {
  ending_ = true;
  accepted_.clear();
  loop_->unwatch(listening_);
  close(listening_);
  for (const auto& [id, guest] : guests_) loop_->cancel(guest.timer);
  for (const auto& [id, closing] : closing_) loop_->cancel(closing.timer);
}

void TcpControlNet::say(const std::string& line) const {
  if (options_.log) options_.log(line);
}

void TcpControlNet::take_connections() {
  std::string peer;
  while (true) {
    const int descriptor = accept_from(listening_, peer);
    if (descriptor < 0) return;
    welcome(descriptor, peer);
  }
}

void TcpControlNet::welcome(int descriptor, std::string peer) {
  if (guests_.size() >= options_.handshakes_max) {
    close(descriptor);
    return say(fmt::format("refused {}: {} other connections have not proven themselves yet", peer,
                           guests_.size()));
  }
  const std::uint64_t id = ++last_;
  Guest guest{std::make_unique<TcpStream>(*loop_, descriptor, std::move(peer), false),
              Handshake(options_.token, HandshakeRole::Listener, options_.version), nullptr};
  guest.timer = loop_->at(loop_->now() + options_.handshake_limit, [this, id] {
    guests_.at(id).timer = nullptr;
    turn_away(id, fmt::format("no handshake within {:.1f} s", seconds(options_.handshake_limit)));
  });
  guest.stream->on_change([this, id] { advance(id); });
  Guest& kept = guests_.emplace(id, std::move(guest)).first->second;
  kept.handshake.begin(*kept.stream);
}

void TcpControlNet::advance(std::uint64_t id) {
  const auto it = guests_.find(id);
  if (it == guests_.end()) return;  // a deferred call after its end
  Guest& guest = it->second;
  const Handshake::State state = guest.handshake.advance(*guest.stream);
  if (state == Handshake::State::Failed) return turn_away(id, guest.handshake.why());
  if (state == Handshake::State::Done) {
    loop_->cancel(guest.timer);
    std::unique_ptr<TcpStream> stream = std::move(guest.stream);
    guests_.erase(it);
    accepted_.push_back(std::make_unique<Link>(*this, std::move(stream)));
    arrived_.notify_all();
  } else if (guest.stream->lost()) {
    turn_away(id, guest.stream->why());
  }
}

void TcpControlNet::turn_away(std::uint64_t id, const std::string& why) {
  auto guest = guests_.extract(id);
  if (guest.mapped().timer != nullptr) loop_->cancel(guest.mapped().timer);
  say(fmt::format("turned away {}: {}", guest.mapped().stream->peer(), why));
  close_gently(std::move(guest.mapped().stream));
}

// Closing a socket with unread bytes resets the connection, and the other side may lose our last
// messages. So send the end of the stream, and read until the other side's end.
void TcpControlNet::close_gently(std::unique_ptr<TcpStream> stream) {
  stream->on_change(nullptr);
  stream->finish();
  if (stream->lost() || ending_) return;
  const std::uint64_t id = ++last_;
  TcpStream& kept = *stream;
  const LiveLoop::Timer timer =
      loop_->at(loop_->now() + kLinger, [this, id] { closing_.erase(id); });
  closing_.emplace(id, Closing{std::move(stream), timer});
  kept.on_change([this, id] {
    const auto it = closing_.find(id);
    if (it == closing_.end() || !it->second.stream->lost()) return;
    loop_->cancel(it->second.timer);
    closing_.erase(it);
  });
}

Task<std::unique_ptr<ControlLink>> TcpControlNet::connect(std::string address) {
  const int descriptor = begin_connect(address);
  auto stream = std::make_unique<TcpStream>(*loop_, descriptor, address, true);
  Handshake handshake(options_.token, HandshakeRole::Connector, options_.version);
  Signal changed;
  bool late = false;
  // Cancelled with this frame, however it ends.
  struct Alarm {
    LiveLoop* loop;
    LiveLoop::Timer timer;
    ~Alarm() {
      if (timer != nullptr) loop->cancel(timer);
    }
  } alarm{loop_, nullptr};
  alarm.timer = loop_->at(loop_->now() + options_.handshake_limit, [&] {
    alarm.timer = nullptr;
    late = true;
    changed.notify_all();
  });
  stream->on_change([&changed] { changed.notify_all(); });
  handshake.begin(*stream);
  while (handshake.advance(*stream) != Handshake::State::Done) {
    if (handshake.state() == Handshake::State::Failed)
      throw ConfigError(fmt::format("cannot talk to {}: {}", address, handshake.why()));
    if (stream->lost())
      throw LinkLost(fmt::format("no connection to {}: {}", address, stream->why()),
                     cause_of(stream->error()));
    if (late)
      throw LinkLost(fmt::format("{} did not answer within {:.1f} s", address,
                                 seconds(options_.handshake_limit)),
                     LinkLost::Cause::Unreachable);
    co_await changed.wait();
  }
  std::unique_ptr<ControlLink> link = std::make_unique<Link>(*this, std::move(stream));
  co_return link;
}

Task<std::unique_ptr<ControlLink>> TcpControlNet::accept() {
  while (accepted_.empty()) co_await arrived_.wait();
  std::unique_ptr<ControlLink> link = std::move(accepted_.front());
  accepted_.pop_front();
  co_return link;
}

}  // namespace shoal
