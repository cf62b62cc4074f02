#include "transport/etcd/etcd_cluster.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/parse.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr Duration kBackOffMin = 50ms;
constexpr Duration kBackOffMax = 500ms;

[[noreturn]] void bad_endpoint(const std::string& list, std::string_view part,
                               std::string_view why) {
  throw ConfigError(fmt::format(
      "etcd endpoints '{}': '{}' {}; write http://HOST:PORT, several separated by commas", list,
      part, why));
}

std::string parse_endpoint(const std::string& list, std::string_view part) {
  constexpr std::string_view kScheme = "http://";
  if (part.empty()) bad_endpoint(list, part, "is empty");
  if (part.starts_with("https://")) bad_endpoint(list, part, "is TLS, which is not supported");
  if (!part.starts_with(kScheme)) bad_endpoint(list, part, "does not begin with http://");
  std::string_view place = part.substr(kScheme.size());
  if (place.ends_with('/')) place.remove_suffix(1);
  const std::size_t colon = place.rfind(':');
  if (colon == std::string_view::npos) bad_endpoint(list, part, "has no port");
  const std::string_view host = place.substr(0, colon);
  const std::string_view port = place.substr(colon + 1);
  const bool bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  const std::string_view forbidden = bracketed ? "/?#@ " : "/?#@ :[]";
  if (host.empty() || host.find_first_of(forbidden) != std::string_view::npos)
    bad_endpoint(list, part, "has no usable host");
  const auto number = parse_number<std::uint16_t>(port, {.least = 1});
  if (!number) bad_endpoint(list, part, "has no port between 1 and 65535");
  return fmt::format("{}{}:{}", kScheme, host, *number);
}

// Temporary errors: a server that starts or stops, has no leader, or is overloaded.
bool is_transient(int code) {
  return code == grpc::kCancelled || code == grpc::kDeadlineExceeded ||
         code == grpc::kResourceExhausted || code == grpc::kUnavailable;
}

}  // namespace

std::vector<std::string> parse_endpoints(const std::string& list) {
  std::vector<std::string> endpoints;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    endpoints.push_back(parse_endpoint(list, std::string_view(list).substr(at, comma - at)));
    at = comma + 1;
  }
  return endpoints;
}

Duration BackOff::next() {
  delay_ = std::clamp(delay_ * 2, kBackOffMin, kBackOffMax);
  return delay_;
}

EtcdCluster::EtcdCluster(LiveLoop& loop, std::vector<std::string> endpoints,
                         const HttpOptions& options)
    : loop_(&loop), env_(loop, {}), http_(loop, options), endpoints_(std::move(endpoints)) {
  SHOAL_CHECK(!endpoints_.empty());
  loop_->add_stall_source(*this);
}

EtcdCluster::~EtcdCluster() { loop_->remove_stall_source(*this); }

void EtcdCluster::failed(const std::string& endpoint) {
  // Other calls may have seen the failure too, and moved on already.
  if (endpoints_[current_] == endpoint) current_ = (current_ + 1) % endpoints_.size();
}

std::optional<EtcdReply> EtcdCluster::judge(const std::string& url, HttpAnswer answer,
                                            std::string& why) {
  if (!answer.failure.empty()) {
    why = std::move(answer.failure);
    return std::nullopt;
  }
  EtcdReply reply{.text = {.url = url, .text = std::move(answer.body)}, .refusal = {}};
  if (answer.status == 200) return reply;
  const std::string status = fmt::format("HTTP {}", answer.status);
  reply.refusal = parse_refusal(reply.text.text);
  // "Not implemented" is not temporary: it is a web server of another kind.
  const bool down = answer.status >= 500 && answer.status != 501;
  if (down || (reply.refusal && is_transient(reply.refusal->code))) {
    why = status + ": " +
          (reply.refusal ? excerpt(reply.refusal->message) : excerpt(reply.text.text));
    return std::nullopt;
  }
  if (!reply.refusal) throw_no_etcd(reply.text, status);
  return reply;
}

Task<EtcdReply> EtcdCluster::ask_or_refuse(std::string path, std::string body) {
  EtcdCall call(*this, std::move(path), HttpClient::Connection::Kept);
  for (;;) {
    std::optional<EtcdReply> reply = co_await call.attempt(body);
    if (reply) co_return std::move(*reply);
  }
}

Task<EtcdText> EtcdCluster::ask(std::string path, std::string body) {
  EtcdReply reply = co_await ask_or_refuse(std::move(path), std::move(body));
  if (reply.refusal) throw_refused(reply);
  co_return std::move(reply.text);
}

bool EtcdCluster::pending() const { return !calls_.empty(); }

std::vector<std::string> EtcdCluster::waiting() {
  std::vector<std::string> lines;
  calls_.each([&](const EtcdCall& call) {
    lines.push_back(fmt::format(
        "etcd has not answered {} in {} tries; the last: {}", call.path_, call.attempts_,
        call.last_failure_.empty() ? "under way at " + endpoint() : call.last_failure_));
  });
  return lines;
}

EtcdCall::EtcdCall(EtcdCluster& cluster, std::string path, HttpClient::Connection connection)
    : cluster_(&cluster), path_(std::move(path)), connection_(connection) {
  // A new call among waiting ones is no progress, otherwise these would never be reported.
  if (cluster_->calls_.empty()) ++cluster_->progress_;
  cluster_->calls_.push_back(*this);
}

EtcdCall::~EtcdCall() {
  ++cluster_->progress_;
  unlink();
}

Task<std::optional<EtcdReply>> EtcdCall::attempt(std::string body) {
  const std::string endpoint = cluster_->endpoint();
  const std::string url = endpoint + path_;
  ++attempts_;
  HttpAnswer answer = co_await cluster_->http_.post(url, std::move(body), connection_);
  const bool sent = answer.sent;
  std::string why;
  std::optional<EtcdReply> reply = EtcdCluster::judge(url, std::move(answer), why);
  if (reply) co_return reply;
  maybe_done_ = maybe_done_ || sent;
  last_failure_ = fmt::format("{}: {}", endpoint, why);
  cluster_->failed(endpoint);
  if (attempts_ % cluster_->endpoints_.size() == 0) {
    const Duration delay = back_off_.next();
    co_await cluster_->env_.sleep(delay);
  }
  co_return std::nullopt;
}

void throw_refused(const EtcdReply& reply) {
  throw ConfigError(fmt::format("etcd refuses {}: '{}' (code {}); check its configuration",
                                reply.text.url, excerpt(reply.refusal->message),
                                reply.refusal->code));
}

}  // namespace shoal
