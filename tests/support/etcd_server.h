// Real etcd servers (Debian's etcd-server) on loopback, for tests. They end with the object, and
// with the test's process, even if that is killed.
//
//   EtcdServers etcd(3);                      // a cluster, ready to serve
//   EtcdStore store(loop, {.endpoints = etcd.endpoints(), .prefix = "shoal/test/"});
//   etcd.stop(0, SIGKILL);
//   etcd.start(0);                            // the same data, the same ports
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace shoal {

// All methods block the calling thread. REQUIRES: the constructing thread outlives the object,
// because the kernel kills the servers when the thread that started them ends.
class EtcdServers {
 public:
  // Throws std::runtime_error, with the end of a server's log, if a server does not serve in time.
  explicit EtcdServers(std::size_t count = 1);
  ~EtcdServers();
  EtcdServers(const EtcdServers&) = delete;
  EtcdServers& operator=(const EtcdServers&) = delete;

  std::size_t size() const { return members_.size(); }
  std::string url(std::size_t i) const;
  std::string endpoints() const;  // the URLs of all servers, separated by commas

  void stop(std::size_t i, int signal = SIGTERM);  // and waits for its end
  void start(std::size_t i);                       // and waits until it serves
  void launch(std::size_t i);                      // without waiting
  void signal(std::size_t i, int signal);          // SIGSTOP, SIGCONT
  // Waits for all running servers; a cluster serves when a majority of it runs.
  void wait_until_healthy();

  // Sends a request of the test; returns the body of the answer, "" if there is none.
  std::string post(std::size_t i, const std::string& path, const std::string& json) const;
  std::string log(std::size_t i) const;

 private:
  struct Member {
    int client_port = 0;
    int peer_port = 0;
    pid_t process = -1;
  };
  bool healthy(const Member& member) const;
  bool running(Member& member);
  bool try_all();
  void kill_all();
  [[noreturn]] void give_up(std::size_t i, const std::string& why) const;
  std::string folder(std::size_t i) const;

  TemporaryFolder folder_;
  std::vector<Member> members_;
};

// A loopback port that was free a moment ago, outside the range of outgoing connections.
int free_port();

// Sends one HTTP request to loopback and reads to the end; "" without an answer within 5 s.
// `request` must ask for "Connection: close".
std::string http_exchange(int port, const std::string& request);

}  // namespace shoal
