// TcpStream: a non-blocking socket on a loop. It reads and writes as the socket allows, and calls a
// hook after changes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/live/loop.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its loop. Invariants:
// 1. The descriptor is watched exactly while it is open.
// 2. Once lost, it reads, writes and calls nothing.
class TcpStream {
 public:
  // Takes the descriptor, connected or (`connecting`) about to be. The loop outlives this object.
  TcpStream(LiveLoop& loop, int descriptor, std::string peer, bool connecting);
  ~TcpStream();
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  // Called when bytes have arrived, the connection was made, or the stream was lost. May destroy
  // the stream.
  void on_change(std::function<void()> hook) { hook_ = std::move(hook); }
  void write(std::string_view bytes);  // never waits; does nothing once lost
  std::string_view arrived() const { return std::string_view(in_).substr(taken_); }
  void take(std::size_t size);  // REQUIRES: so many bytes have arrived
  // Sends the remaining bytes and then the end of the stream; discards further input.
  void finish();
  void lose(std::string why);  // closes it at once, without calling the hook

  bool connecting() const { return connecting_; }
  bool lost() const { return descriptor_ < 0; }
  const std::string& why() const { return why_; }
  int error() const { return error_; }  // of the system, if it caused the loss
  const std::string& peer() const { return peer_; }

 private:
  void ready(Readiness readiness);
  void read_some();
  void write_some();
  void set_interest();
  void fail(int error);
  void changed();

  LiveLoop* loop_;
  int descriptor_;
  std::string peer_;
  bool connecting_;
  bool finishing_ = false;
  bool shut_ = false;
  Readiness interest_;
  std::string in_;
  std::size_t taken_ = 0;  // of in_
  std::string out_;
  std::size_t written_ = 0;  // of out_
  std::string why_;
  int error_ = 0;
  std::function<void()> hook_;
  std::shared_ptr<bool> here_ = std::make_shared<bool>(true);  // for calls that come later
};

}  // namespace shoal
