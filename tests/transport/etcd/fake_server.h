// A small HTTP server on loopback that answers as the test says.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace shoal {

// Thread safety: the handler is called by threads of the server, one at a time.
class FakeServer {
 public:
  // Gets a whole request, header and body, and returns all bytes of the answer. Nullopt: the
  // connection is closed without an answer.
  using Handler = std::function<std::optional<std::string>(const std::string& request)>;

  explicit FakeServer(Handler handler);
  ~FakeServer();  // ends all connections
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int requests() const { return requests_; }

 private:
  struct Connection {
    int descriptor;
    std::thread thread;
  };
  void accept_all();
  void serve(int descriptor);

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> requests_ = 0;
  std::mutex mutex_;                   // one handler at a time
  std::list<Connection> connections_;  // used by the acceptor; closed by the destructor
  std::thread acceptor_;
};

// An answer with this status and body.
std::string http_answer(int status, const std::string& body);

// For a handler: the answer of the server at `port`.
std::string forward(int port, std::string request);

}  // namespace shoal
