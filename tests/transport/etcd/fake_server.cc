#include "fake_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "support/etcd_server.h"

namespace shoal {
namespace {

// Reads one request; "" at the end of the connection.
std::string read_request(int descriptor) {
  std::string request;
  char buffer[4096];
  for (;;) {
    const std::size_t end = request.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::size_t at = request.find("Content-Length: ");
      const std::size_t length =
          at < end ? std::strtoul(request.c_str() + at + 16, nullptr, 10) : 0;
      if (request.size() >= end + 4 + length) return request;
    }
    const ssize_t n = recv(descriptor, buffer, sizeof buffer, 0);
    if (n <= 0) return "";
    request.append(buffer, static_cast<std::size_t>(n));
  }
}

}  // namespace

FakeServer::FakeServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no port for the test's server");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

FakeServer::~FakeServer() {
  shutdown(listener_, SHUT_RDWR);  // Ends accept().
  acceptor_.join();
  close(listener_);
  for (Connection& connection : connections_) {
    shutdown(connection.descriptor, SHUT_RDWR);
    connection.thread.join();
    close(connection.descriptor);
  }
}

void FakeServer::accept_all() {
  for (;;) {
    const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) return;
    connections_.push_back({descriptor, std::thread([this, descriptor] { serve(descriptor); })});
  }
}

void FakeServer::serve(int descriptor) {
  for (;;) {
    const std::string request = read_request(descriptor);
    if (request.empty()) break;
    ++requests_;
    std::optional<std::string> answer;
    {
      const std::lock_guard lock(mutex_);
      answer = handler_(request);
    }
    if (!answer) break;
    if (send(descriptor, answer->data(), answer->size(), MSG_NOSIGNAL) < 0) break;
  }
  shutdown(descriptor, SHUT_RDWR);
}

std::string http_answer(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Whatever\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string forward(int port, std::string request) {
  request.insert(request.find("\r\n") + 2, "Connection: close\r\n");
  return http_exchange(port, request);
}

}  // namespace shoal
