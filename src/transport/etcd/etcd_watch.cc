#include "transport/etcd/etcd_watch.h"

#include <algorithm>
#include <utility>

#include "runtime/task_group.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

// A frozen or unreachable server looks like one without events. After this silence it is sent a
// request that needs the whole cluster.
constexpr Duration kSilence = 1s;
constexpr const char* kPath = "/v3/watch";

}  // namespace

Task<Change> EtcdWatch::next() {
  while (news_.empty()) {
    if (next_ == 0) {
      stream_.reset();
      co_await read_all();
      continue;
    }
    if (stream_ == nullptr) open();
    const std::uint64_t seen = stream_->received();
    read_stream();
    if (!news_.empty() || next_ == 0) continue;
    if (stream_over_ || stream_->ended()) {
      co_await leave_stream();
    } else {
      co_await wait(seen);
    }
  }
  Change change = std::move(news_.front());
  news_.pop_front();
  co_return change;
}

// Reports the present entries as changes of the known ones.
Task<void> EtcdWatch::read_all() {
  const EtcdText text = co_await cluster_->ask("/v3/kv/range", prefix_request(prefix_));
  RangeReply reply = parse_range(text);
  std::map<std::string, Revision> present;
  for (const EtcdItem& item : reply.items) present[item.entry.key] = item.entry.modified;
  for (const auto& [key, modified] : known_)
    if (!present.contains(key)) news_.push_back({.key = key, .value = {}, .lease = kNoLease});
  for (EtcdItem& item : reply.items) {
    const auto it = known_.find(item.entry.key);
    if (it != known_.end() && it->second == item.entry.modified) continue;
    news_.push_back({.key = std::move(item.entry.key),
                     .value = std::move(item.entry.value),
                     .lease = item.lease});
  }
  for (Change& change : news_) change.key.erase(0, job_.size());
  known_ = std::move(present);
  next_ = reply.revision + 1;
}

void EtcdWatch::open() {
  stream_at_ = cluster_->endpoint();
  stream_over_ = false;
  stream_ = cluster_->http().stream(stream_at_ + kPath, watch_request(prefix_, next_));
}

// Processes the complete lines that have arrived.
void EtcdWatch::read_stream() {
  std::string& text = stream_->answer().body;
  std::size_t at = 0;
  while (!stream_over_) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    take(parse_watch({.url = stream_at_ + kPath, .text = text.substr(at, end - at)}));
    at = end + 1;
  }
  text.erase(0, at);
}

void EtcdWatch::take(WatchReply reply) {
  if (reply.created) back_off_.reset();
  // A revision may have several events. All are in one reply, so only its end completes the
  // revision.
  Revision after = next_;
  for (EtcdEvent& event : reply.events) {
    after = std::max(after, event.modified + 1);
    take(std::move(event));
  }
  next_ = after;
  if (reply.compacted > 0) next_ = 0;
  if (reply.cancelled || !reply.error.empty()) stream_over_ = true;
}

void EtcdWatch::take(EtcdEvent event) {
  if (event.modified < next_) return;
  if (event.change.value) {
    known_[event.change.key] = event.modified;
  } else {
    known_.erase(event.change.key);
  }
  event.change.key.erase(0, job_.size());
  news_.push_back(std::move(event.change));
}

// Throws if the stream ended for a permanent reason.
Task<void> EtcdWatch::leave_stream() {
  const std::unique_ptr<HttpTransfer> stream = std::move(stream_);
  if (stream->ended()) {
    std::string why;
    const std::optional<EtcdReply> reply =
        EtcdCluster::judge(stream_at_ + kPath, std::move(stream->answer()), why);
    if (reply && reply->refusal) throw_refused(*reply);
  }
  cluster_->failed(stream_at_);
  const Duration delay = back_off_.next();
  co_await cluster_->env().sleep(delay);
}

// Waits until there are more than `seen` bytes, the stream ends, or its server turns out to be
// dead.
Task<void> EtcdWatch::wait(std::uint64_t seen) {
  const bool news = co_await timeout(cluster_->env(), kSilence, stream_->more_than(seen));
  if (news) co_return;
  const std::string url = stream_at_ + "/v3/kv/range";
  HttpAnswer answer =
      co_await cluster_->http().post(url, count_request(prefix_), HttpClient::Connection::Kept);
  std::string why;
  const std::optional<EtcdReply> reply = EtcdCluster::judge(url, std::move(answer), why);
  if (!reply) {
    stream_.reset();
    cluster_->failed(stream_at_);
  } else if (reply->refusal) {
    throw_refused(*reply);
  } else if (parse_header(reply->text) + 1 < next_) {
    stream_.reset();  // a restored backup has reset the store, so nothing known of it holds
    next_ = 0;
  }
}

}  // namespace shoal
