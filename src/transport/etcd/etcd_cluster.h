// The servers of one etcd cluster: chooses the server to ask, and reacts to missing answers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/list.h"
#include "runtime/live/live_env.h"
#include "runtime/live/loop.h"
#include "transport/etcd/etcd_json.h"
#include "transport/etcd/http.h"

namespace shoal {

// Parses "http://HOST:PORT,http://HOST:PORT,...". Throws ConfigError.
std::vector<std::string> parse_endpoints(const std::string& list);

// An answer: etcd executed the call, or refused it.
struct EtcdReply {
  EtcdText text;
  std::optional<EtcdRefusal> refusal;
};

// 50 ms, doubled with each step, at most 500 ms.
class BackOff {
 public:
  Duration next();
  void reset() { delay_ = Duration::zero(); }

 private:
  Duration delay_{};
};

class EtcdCall;

// Thread safety: none; it belongs to the loop's thread. A call without an answer is reported as a
// stall, with the reason of its last failure.
class EtcdCluster final : public StallSource {
 public:
  EtcdCluster(LiveLoop& loop, std::vector<std::string> endpoints, const HttpOptions& options);
  ~EtcdCluster() override;

  // Repeats the call until there is an answer. ask() throws ConfigError if etcd refuses.
  Task<EtcdText> ask(std::string path, std::string body);
  Task<EtcdReply> ask_or_refuse(std::string path, std::string body);

  // The present server; and a report that it failed, after which the next one is asked.
  const std::string& endpoint() const { return endpoints_[current_]; }
  void failed(const std::string& endpoint);
  // Interprets an answer. Empty: try again; `why` is the reason. Throws Corrupt.
  static std::optional<EtcdReply> judge(const std::string& url, HttpAnswer answer,
                                        std::string& why);

  HttpClient& http() { return http_; }
  Env& env() { return env_; }

  bool pending() const override;
  std::uint64_t progress() const override { return progress_; }
  std::vector<std::string> waiting() override;

 private:
  friend class EtcdCall;
  LiveLoop* loop_;
  LiveEnv env_;
  HttpClient http_;
  std::vector<std::string> endpoints_;
  std::size_t current_ = 0;
  List<EtcdCall, struct InCluster> calls_;
  std::uint64_t progress_ = 0;
};

// One call, tried at one server after the other. All are tried once before it waits.
class EtcdCall : public ListHook<struct InCluster> {
 public:
  EtcdCall(EtcdCluster& cluster, std::string path, HttpClient::Connection connection);
  ~EtcdCall();
  EtcdCall(const EtcdCall&) = delete;
  EtcdCall& operator=(const EtcdCall&) = delete;

  // Empty: no answer this time; it has waited, so try again.
  Task<std::optional<EtcdReply>> attempt(std::string body);
  // A server may have executed one of the unanswered attempts.
  bool maybe_done() const { return maybe_done_; }

 private:
  friend class EtcdCluster;
  EtcdCluster* cluster_;
  const std::string path_;
  const HttpClient::Connection connection_;
  bool maybe_done_ = false;
  std::uint64_t attempts_ = 0;
  std::string last_failure_;
  BackOff back_off_;
};

// Throws the ConfigError for a refusal.
[[noreturn]] void throw_refused(const EtcdReply& reply);

}  // namespace shoal
