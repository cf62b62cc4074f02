// HTTP requests in the live loop. Only http.cc uses libcurl.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "base/types.h"
#include "runtime/channel.h"
#include "runtime/live/loop.h"
#include "runtime/task.h"

namespace shoal {

struct HttpOptions {
  Duration connect_timeout = std::chrono::milliseconds(300);
  Duration request_timeout = std::chrono::seconds(2);  // for a whole request; streams have none
};

struct HttpAnswer {
  int status = 0;  // 0: there is no answer
  std::string body;
  std::string failure;  // the reason for a missing or incomplete answer; "": it is complete
  bool sent = false;    // part of the request may have reached the server
};

// A request in progress. Destroying it ends it.
class HttpTransfer {
 public:
  HttpTransfer() = default;
  ~HttpTransfer();
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  bool ended() const { return ended_; }
  std::uint64_t received() const { return received_; }  // bytes, in total
  HttpAnswer& answer() { return answer_; }  // its body grows; the reader of a stream cuts it
  // Waits for more than `seen` bytes, or the end.
  Task<void> more_than(std::uint64_t seen);

 private:
  friend class HttpClient;
  friend struct HttpCallbacks;

  void* easy_ = nullptr;
  void* headers_ = nullptr;
  class HttpClient* client_ = nullptr;
  std::string body_;  // of the request; libcurl sends from here
  HttpAnswer answer_;
  std::uint64_t received_ = 0;
  bool ended_ = false;
  bool too_large_ = false;
  std::string error_;  // libcurl writes its message here
  Signal changed_;
};

// Thread safety: none; it belongs to the loop's thread. Invariant: it outlives its transfers, and
// the loop outlives it.
class HttpClient {
 public:
  // Fresh: if a kept connection turns out to be closed, libcurl repeats the request by itself. A
  // request that must not be sent twice gets a connection of its own.
  enum class Connection : std::uint8_t { Kept, Fresh };

  HttpClient(LiveLoop& loop, const HttpOptions& options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Does not throw if there is no answer: it returns one with a `failure`.
  Task<HttpAnswer> post(std::string url, std::string body, Connection connection);
  // For an answer in pieces, for as long as the server sends.
  std::unique_ptr<HttpTransfer> stream(const std::string& url, std::string body);

 private:
  friend class HttpTransfer;
  friend struct HttpCallbacks;
  std::unique_ptr<HttpTransfer> begin(const std::string& url, std::string body,
                                      Connection connection, Duration limit);
  void act(int descriptor, int events);
  void set_timer(long timeout_ms);

  LiveLoop* loop_;
  HttpOptions options_;
  void* multi_ = nullptr;
  LiveLoop::Timer timer_ = nullptr;
  std::set<int> watched_;
  std::size_t transfers_ = 0;
};

}  // namespace shoal
