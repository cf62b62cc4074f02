// The servers of one etcd: which one to ask, and what to do when it does not answer.
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

// "http://HOST:PORT,http://HOST:PORT,..." as a list. Throws ConfigError.
std::vector<std::string> parse_endpoints(const std::string& list);

// An answer: etcd did it, or refused.
struct EtcdReply {
  EtcdText text;
  std::optional<EtcdRefusal> refusal;
};

// 50 ms, doubled with each step, 500 ms at most.
class BackOff {
 public:
  Duration next();
  void reset() { delay_ = Duration::zero(); }

 private:
  Duration delay_{};
};

class EtcdCall;

// Thread safety: none; it belongs to the loop's thread. A call that is not answered is reported as
// a stall, with the reason of its last failure.
class EtcdCluster final : public StallSource {
 public:
  EtcdCluster(LiveLoop& loop, std::vector<std::string> endpoints, const HttpOptions& options);
  ~EtcdCluster() override;

  // Asks until there is an answer. ask() throws ConfigError when etcd refuses.
  Task<EtcdText> ask(std::string path, std::string body);
  Task<EtcdReply> ask_or_refuse(std::string path, std::string body);

  // The server that is asked now; and that it failed, so that the next one is asked from now on.
  const std::string& endpoint() const { return endpoints_[current_]; }
  void failed(const std::string& endpoint);
  // What an answer is worth. Nothing: try again, and `why` is the reason. Throws Corrupt.
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

  // Nothing: no answer this time. It has waited as it should; try again.
  Task<std::optional<EtcdReply>> attempt(std::string body);
  // A server may have acted on one of the attempts that had no answer.
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

// The ConfigError for what etcd will not do.
[[noreturn]] void throw_refused(const EtcdReply& reply);

}  // namespace shoal
