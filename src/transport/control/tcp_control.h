// TcpControlNet: control links over TCP, between processes that have proven to each other that they
// know the job's token. Messages are frames: a length (4 bytes), then the bytes.
//
//   TcpControlNet net(loop, {.token = token});
//   std::unique_ptr<ControlLink> link = co_await net.connect("127.0.0.1:4711");
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/types.h"
#include "membership/control.h"
#include "runtime/channel.h"
#include "runtime/live/loop.h"
#include "transport/control/handshake.h"
#include "transport/control/stream.h"
#include "transport/control/token.h"

namespace shoal {

inline constexpr std::size_t kControlFrameMax = std::size_t{16} << 20U;

struct TcpControlOptions {
  JobToken token;
  std::string listen = "127.0.0.1";  // by default only this machine can connect
  std::uint16_t port = 0;            // 0: the system chooses
  std::string advertise{};           // the host that others connect to; "": the same as `listen`
  std::uint32_t version = kControlVersion;
  Duration handshake_limit = std::chrono::seconds(2);
  std::size_t handshakes_max = 64;  // concurrent ones; more are refused
  // Gets refused connections and the reasons; may be null.
  std::function<void(const std::string& line)> log{};
};

// Thread safety: none; it belongs to the thread of its loop. Invariant: every connection is in
// exactly one state: handshake, waiting to be accepted, owned by a ControlLink, or closing.
class TcpControlNet final : public ControlNet {
 public:
  // Listens at once. Throws ConfigError if that is impossible. The loop outlives this object, which
  // outlives its links.
  TcpControlNet(LiveLoop& loop, TcpControlOptions options);
  ~TcpControlNet() override;
  TcpControlNet(const TcpControlNet&) = delete;
  TcpControlNet& operator=(const TcpControlNet&) = delete;

  std::string address() const override { return address_; }
  // A name that is not a numeric address is looked up, which may block: publish numeric ones.
  Task<std::unique_ptr<ControlLink>> connect(std::string address) override;
  Task<std::unique_ptr<ControlLink>> accept() override;

  std::size_t shaking_hands() const { return guests_.size(); }

 private:
  class Link;
  struct Guest {
    std::unique_ptr<TcpStream> stream;
    Handshake handshake;
    LiveLoop::Timer timer;
  };
  struct Closing {
    std::unique_ptr<TcpStream> stream;
    LiveLoop::Timer timer;
  };
  void take_connections();
  void welcome(int descriptor, std::string peer);
  void advance(std::uint64_t guest);
  void turn_away(std::uint64_t guest, const std::string& why);
  void close_gently(std::unique_ptr<TcpStream> stream);
  void say(const std::string& line) const;

  LiveLoop* loop_;
  TcpControlOptions options_;
  int listening_ = -1;
  std::string address_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Guest> guests_;
  std::map<std::uint64_t, Closing> closing_;
  std::deque<std::unique_ptr<ControlLink>> accepted_;
  Signal arrived_;  // a link has arrived
  bool ending_ = false;
};

}  // namespace shoal
