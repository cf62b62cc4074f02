#include "support/etcd_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace shoal {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 60s;  // For a server to start; far above the usual time.
constexpr auto kLook = 10ms;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::string http_url(int port) { return "http://127.0.0.1:" + std::to_string(port); }

// Replaces this process by etcd; `arguments` and `log` were made before the fork.
[[noreturn]] void become(std::vector<char*>& arguments, int log, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);  // The parent died before prctl took effect.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

int free_port() {
  static std::mt19937 random{std::random_device()()};
  for (int tries = 0; tries < 1000; ++tries) {
    const int port = std::uniform_int_distribution(10'000, 30'000)(random);
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    const bool free =
        bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(descriptor);
    if (free) return port;
  }
  throw std::runtime_error("no free port on loopback");
}

std::string http_exchange(int port, const std::string& request) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const sockaddr_in address = loopback(port);
  std::string answer;
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(descriptor, request.data(), request.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(request.size())) {
    char buffer[4096];
    for (ssize_t n = 0; (n = recv(descriptor, buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(n));
  }
  close(descriptor);
  return answer;
}

EtcdServers::EtcdServers(std::size_t count) : members_(count) {
  // Another process may take a port between our check and the server's start: then all start again.
  for (int tries = 0; tries < 5; ++tries)
    if (try_all()) return;
  give_up(0, "no etcd could be started (apt-get install etcd-server?)");
}

EtcdServers::~EtcdServers() { kill_all(); }

bool EtcdServers::try_all() {
  for (std::size_t i = 0; i < size(); ++i) {
    std::filesystem::remove_all(folder(i));
    std::filesystem::create_directory(folder(i));
    members_[i].client_port = free_port();
    members_[i].peer_port = free_port();
  }
  for (std::size_t i = 0; i < size(); ++i) launch(i);
  const auto deadline = Clock::now() + kPatience;
  const auto serves = [this](const Member& m) { return healthy(m); };
  while (!std::ranges::all_of(members_, serves)) {
    if (!std::ranges::all_of(members_, [this](Member& m) { return running(m); })) {
      kill_all();
      return false;
    }
    if (Clock::now() > deadline) give_up(0, "etcd does not serve");
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

std::string EtcdServers::url(std::size_t i) const { return http_url(members_[i].client_port); }

std::string EtcdServers::endpoints() const {
  std::string list = url(0);
  for (std::size_t i = 1; i < size(); ++i) list += "," + url(i);
  return list;
}

std::string EtcdServers::folder(std::size_t i) const {
  return (folder_.path() / ("etcd" + std::to_string(i))).string();
}

void EtcdServers::launch(std::size_t i) {
  std::string cluster;
  for (std::size_t k = 0; k < size(); ++k)
    cluster += (k > 0 ? ",m" : "m") + std::to_string(k) + "=" + http_url(members_[k].peer_port);
  const std::string peer = http_url(members_[i].peer_port);
  std::vector<std::string> words = {"etcd",
                                    "--name=m" + std::to_string(i),
                                    "--data-dir=" + folder(i) + "/data",
                                    "--listen-client-urls=" + url(i),
                                    "--advertise-client-urls=" + url(i),
                                    "--listen-peer-urls=" + peer,
                                    "--initial-advertise-peer-urls=" + peer,
                                    "--initial-cluster=" + cluster,
                                    "--initial-cluster-state=new"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int log =
      open((folder(i) + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) throw std::runtime_error("no log for etcd");
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) become(arguments, log, parent);
  close(log);
  if (process < 0) throw std::runtime_error("etcd: fork failed");
  members_[i].process = process;
}

bool EtcdServers::running(Member& member) {
  if (member.process <= 0) return false;
  if (waitpid(member.process, nullptr, WNOHANG) != member.process) return true;
  member.process = -1;
  return false;
}

void EtcdServers::start(std::size_t i) {
  launch(i);
  wait_until_healthy();
}

void EtcdServers::wait_until_healthy() {
  const auto deadline = Clock::now() + kPatience;
  for (std::size_t i = 0; i < size(); ++i) {
    if (members_[i].process <= 0) continue;
    while (!healthy(members_[i])) {
      if (!running(members_[i])) give_up(i, "etcd has ended");
      if (Clock::now() > deadline) give_up(i, "etcd does not serve");
      std::this_thread::sleep_for(kLook);
    }
  }
}

bool EtcdServers::healthy(const Member& member) const {
  const std::string answer = http_exchange(
      member.client_port, "GET /health HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n");
  return answer.find("{\"health\":\"true\"}") != std::string::npos;
}

void EtcdServers::signal(std::size_t i, int signal) {
  if (members_[i].process > 0) kill(members_[i].process, signal);
}

void EtcdServers::stop(std::size_t i, int signal) {
  if (members_[i].process <= 0) return;
  kill(members_[i].process, signal);
  const auto deadline = Clock::now() + kPatience;
  while (running(members_[i])) {
    if (Clock::now() > deadline) kill(members_[i].process, SIGKILL);
    std::this_thread::sleep_for(kLook);
  }
}

void EtcdServers::kill_all() {
  for (Member& member : members_) {
    if (member.process <= 0) continue;
    kill(member.process, SIGKILL);
    waitpid(member.process, nullptr, 0);
    member.process = -1;
  }
}

std::string EtcdServers::post(std::size_t i, const std::string& path,
                              const std::string& json) const {
  const std::string answer =
      http_exchange(members_[i].client_port,
                    "POST " + path + " HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n" +
                        "Content-Length: " + std::to_string(json.size()) + "\r\n\r\n" + json);
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

std::string EtcdServers::log(std::size_t i) const {
  std::ifstream file(folder(i) + "/log");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void EtcdServers::give_up(std::size_t i, const std::string& why) const {
  const std::string text = log(i);
  throw std::runtime_error(why + ", member " + std::to_string(i) + ": ..." +
                           text.substr(text.size() - std::min<std::size_t>(text.size(), 2000)));
}

}  // namespace shoal
