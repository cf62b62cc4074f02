#include "transport/etcd/http.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "base/check.h"

namespace shoal {
namespace {

// More than etcd ever sends at once; an endless answer must not fill the memory.
constexpr std::size_t kBodyMax = std::size_t{64} << 20U;

void check(CURLMcode code, const char* call) {
  SHOAL_CHECK(code == CURLM_OK, "{}: {}", call, curl_multi_strerror(code));
}

template <class T>
void set(CURL* easy, CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  SHOAL_CHECK(code == CURLE_OK, "curl_easy_setopt {}: {}", static_cast<int>(option),
              curl_easy_strerror(code));
}

long milliseconds(Duration d) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(d).count());
}

}  // namespace

// Callbacks of libcurl. None of them calls libcurl or runs a coroutine: they only make coroutines
// ready.
struct HttpCallbacks {
  static std::size_t received(const char* data, std::size_t size, std::size_t n, void* user) {
    auto& transfer = *static_cast<HttpTransfer*>(user);
    transfer.too_large_ = transfer.answer_.body.size() + size * n > kBodyMax;
    if (transfer.too_large_) return 0;  // ends the transfer
    transfer.answer_.body.append(data, size * n);
    transfer.received_ += size * n;
    transfer.changed_.notify_all();
    return size * n;
  }

  static int socket_changed(CURL*, curl_socket_t descriptor, int what, void* user, void*) {
    auto& client = *static_cast<HttpClient*>(user);
    if (what == CURL_POLL_REMOVE) {
      if (client.watched_.erase(descriptor) > 0) client.loop_->unwatch(descriptor);
      return 0;
    }
    const Readiness interest{.readable = (what & CURL_POLL_IN) != 0,
                             .writable = (what & CURL_POLL_OUT) != 0};
    if (!client.watched_.insert(descriptor).second) {
      client.loop_->rewatch(descriptor, interest);
      return 0;
    }
    client.loop_->watch(descriptor, interest, [&client, descriptor](Readiness ready) {
      client.act(descriptor,
                 (ready.readable ? CURL_CSELECT_IN : 0) | (ready.writable ? CURL_CSELECT_OUT : 0));
    });
    return 0;
  }

  static int timer_changed(CURLM*, long timeout_ms, void* user) {
    static_cast<HttpClient*>(user)->set_timer(timeout_ms);
    return 0;
  }

  static void ended(HttpTransfer& transfer, CURLcode code) {
    HttpAnswer& answer = transfer.answer_;
    long status = 0;
    long request_size = 0;
    curl_easy_getinfo(transfer.easy_, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(transfer.easy_, CURLINFO_REQUEST_SIZE, &request_size);
    answer.status = static_cast<int>(status);
    answer.sent = request_size > 0;
    // An answer that is too large is not from etcd; its reader will report that.
    if (code != CURLE_OK && !transfer.too_large_) {
      const std::string text = transfer.error_.c_str();
      answer.failure = text.empty() ? curl_easy_strerror(code) : text;
      long reason = 0;
      curl_easy_getinfo(transfer.easy_, CURLINFO_OS_ERRNO, &reason);
      if (code == CURLE_COULDNT_CONNECT && reason != 0)
        answer.failure += fmt::format(" ({})", std::strerror(static_cast<int>(reason)));
    }
    transfer.ended_ = true;
    transfer.changed_.notify_all();
  }
};

HttpTransfer::~HttpTransfer() {
  if (client_ == nullptr) return;
  --client_->transfers_;
  check(curl_multi_remove_handle(client_->multi_, easy_), "curl_multi_remove_handle");
  curl_easy_cleanup(easy_);
  curl_slist_free_all(static_cast<curl_slist*>(headers_));
}

Task<void> HttpTransfer::more_than(std::uint64_t seen) {
  while (received_ <= seen && !ended_) co_await changed_.wait();
}

HttpClient::HttpClient(LiveLoop& loop, const HttpOptions& options)
    : loop_(&loop), options_(options) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  SHOAL_CHECK(initialized == CURLE_OK, "libcurl: {}", curl_easy_strerror(initialized));
  multi_ = curl_multi_init();
  SHOAL_CHECK(multi_ != nullptr, "curl_multi_init failed");
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &HttpCallbacks::socket_changed);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &HttpCallbacks::timer_changed);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

HttpClient::~HttpClient() {
  SHOAL_CHECK_EQ(transfers_, 0U, "an HTTP client ended before its requests");
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, nullptr);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, nullptr);
  for (const int descriptor : watched_) loop_->unwatch(descriptor);
  set_timer(-1);
  curl_multi_cleanup(multi_);
}

Task<HttpAnswer> HttpClient::post(std::string url, std::string body, Connection connection) {
  const std::unique_ptr<HttpTransfer> transfer =
      begin(url, std::move(body), connection, options_.request_timeout);
  while (!transfer->ended()) co_await transfer->more_than(transfer->received());
  co_return std::move(transfer->answer());
}

std::unique_ptr<HttpTransfer> HttpClient::stream(const std::string& url, std::string body) {
  return begin(url, std::move(body), Connection::Fresh, Duration::zero());
}

std::unique_ptr<HttpTransfer> HttpClient::begin(const std::string& url, std::string body,
                                                Connection connection, Duration limit) {
  auto transfer = std::make_unique<HttpTransfer>();
  CURL* const easy = curl_easy_init();
  SHOAL_CHECK(easy != nullptr, "curl_easy_init failed");
  transfer->easy_ = easy;
  transfer->client_ = this;
  transfer->body_ = std::move(body);
  transfer->error_.assign(CURL_ERROR_SIZE, '\0');
  curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
  headers = curl_slist_append(headers, "Expect:");  // saves a round trip for large bodies
  transfer->headers_ = headers;

  set(easy, CURLOPT_URL, url.c_str());
  set(easy, CURLOPT_PROTOCOLS_STR, "http");
  set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(easy, CURLOPT_NOPROXY, "*");  // a cluster's etcd is not behind the proxy of its users
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_TCP_NODELAY, 1L);
  set(easy, CURLOPT_HTTPHEADER, headers);
  set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(transfer->body_.size()));
  set(easy, CURLOPT_POSTFIELDS, transfer->body_.data());
  set(easy, CURLOPT_WRITEFUNCTION, &HttpCallbacks::received);
  set(easy, CURLOPT_WRITEDATA, static_cast<void*>(transfer.get()));
  set(easy, CURLOPT_PRIVATE, static_cast<void*>(transfer.get()));
  set(easy, CURLOPT_ERRORBUFFER, transfer->error_.data());
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options_.connect_timeout));
  set(easy, CURLOPT_TIMEOUT_MS, milliseconds(limit));
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);  // for streams, whose end may never reach us
  set(easy, CURLOPT_TCP_KEEPIDLE, 2L);
  set(easy, CURLOPT_TCP_KEEPINTVL, 1L);
  const long fresh = connection == Connection::Fresh ? 1 : 0;
  set(easy, CURLOPT_FRESH_CONNECT, fresh);
  set(easy, CURLOPT_FORBID_REUSE, fresh);
  ++transfers_;
  check(curl_multi_add_handle(multi_, easy), "curl_multi_add_handle");
  return transfer;
}

void HttpClient::act(int descriptor, int events) {
  int running = 0;
  check(curl_multi_socket_action(multi_, descriptor, events, &running), "curl_multi_socket_action");
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    char* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    HttpCallbacks::ended(*reinterpret_cast<HttpTransfer*>(transfer), message->data.result);
  }
}

void HttpClient::set_timer(long timeout_ms) {
  if (timer_ != nullptr) loop_->cancel(std::exchange(timer_, nullptr));
  if (timeout_ms < 0) return;
  timer_ = loop_->at(loop_->now() + std::chrono::milliseconds(timeout_ms), [this] {
    timer_ = nullptr;
    act(CURL_SOCKET_TIMEOUT, 0);
  });
}

}  // namespace shoal
