#include "transport/etcd/etcd_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/parse.h"
#include "transport/etcd/base64.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

// ---- requests

std::string number(std::int64_t value) { return std::to_string(value); }

// The first key after all keys with the prefix; a zero byte means the end of all keys.
std::string end_of(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return {'\0'};
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

Json range_of(const std::string& prefix) {
  // etcd has no empty key: the range of all keys begins at the zero byte.
  return {{"key", to_base64(prefix.empty() ? std::string(1, '\0') : prefix)},
          {"range_end", to_base64(end_of(prefix))}};
}

Json compare(const std::string& key, const char* target, const char* field, std::string value) {
  return {
      {"key", to_base64(key)}, {"target", target}, {"result", "EQUAL"}, {field, std::move(value)}};
}

Json conditions(const Transaction& transaction) {
  Json list = Json::array();
  for (const Condition& c : transaction.when)
    list.push_back(compare(c.key, "MOD", "mod_revision", number(c.modified)));
  return list;
}

// The condition that all keys are as the transaction would leave them.
Json already_done(const Transaction& transaction) {
  Json list = Json::array();
  for (const Change& c : transaction.then) {
    if (c.value) {
      list.push_back(compare(c.key, "VALUE", "value", to_base64(*c.value)));
      list.push_back(compare(c.key, "LEASE", "lease", number(c.lease)));
    } else {
      list.push_back(compare(c.key, "MOD", "mod_revision", number(0)));
    }
  }
  return list;
}

Json changes(const Transaction& transaction) {
  Json list = Json::array();
  for (const Change& c : transaction.then) {
    if (c.value) {
      list.push_back({{"request_put",
                       {{"key", to_base64(c.key)},
                        {"value", to_base64(*c.value)},
                        {"lease", number(c.lease)}}}});
    } else {
      list.push_back({{"request_delete_range", {{"key", to_base64(c.key)}}}});
    }
  }
  return list;
}

Json reads(const Transaction& transaction) {
  Json list = Json::array();
  for (const Change& c : transaction.then)
    list.push_back({{"request_range", {{"key", to_base64(c.key)}}}});
  return list;
}

std::string txn(Json when, Json then, Json otherwise) {
  return Json{
      {"compare", std::move(when)}, {"success", std::move(then)}, {"failure", std::move(otherwise)}}
      .dump();
}

// ---- replies

// Thrown inside this file, with the problem.
struct Unreadable {
  std::string what;
};

const Json& member(const Json& object, const char* name) {
  if (!object.is_object()) throw Unreadable{"no JSON object"};
  const auto it = object.find(name);
  if (it == object.end()) throw Unreadable{fmt::format("no \"{}\"", name)};
  return *it;
}

const Json* find(const Json& object, const char* name) {
  if (!object.is_object()) throw Unreadable{"no JSON object"};
  const auto it = object.find(name);
  return it == object.end() ? nullptr : &*it;
}

std::int64_t number_of(const Json& value, const char* name) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_string()) {
    const auto number = parse_number<std::int64_t>(value.get_ref<const std::string&>());
    if (number) return *number;
  }
  throw Unreadable{fmt::format("\"{}\" is not a number", name)};
}

std::int64_t number_in(const Json& object, const char* name) {  // 0 if it is absent
  const Json* value = find(object, name);
  return value == nullptr ? 0 : number_of(*value, name);
}

bool flag_in(const Json& object, const char* name) {
  const Json* value = find(object, name);
  if (value == nullptr) return false;
  if (!value->is_boolean()) throw Unreadable{fmt::format("\"{}\" is not a boolean", name)};
  return value->get<bool>();
}

std::string bytes_in(const Json& object, const char* name) {
  const Json* value = find(object, name);
  if (value == nullptr) return {};
  if (!value->is_string()) throw Unreadable{fmt::format("\"{}\" is not a string", name)};
  std::optional<std::string> bytes = from_base64(value->get_ref<const std::string&>());
  if (!bytes) throw Unreadable{fmt::format("\"{}\" is not base64", name)};
  return std::move(*bytes);
}

const Json& list_in(const Json& object, const char* name) {
  static const Json kNone = Json::array();
  const Json* value = find(object, name);
  if (value == nullptr) return kNone;
  if (!value->is_array()) throw Unreadable{fmt::format("\"{}\" is not a list", name)};
  return *value;
}

Revision revision_of(const Json& reply) {
  return number_of(member(member(reply, "header"), "revision"), "revision");
}

EtcdItem item_of(const Json& kv) {
  EtcdItem item;
  item.entry.key = bytes_in(kv, "key");
  item.entry.value = bytes_in(kv, "value");
  item.entry.modified = number_of(member(kv, "mod_revision"), "mod_revision");
  item.lease = number_in(kv, "lease");
  return item;
}

EtcdEvent event_of(const Json& json) {
  EtcdItem item = item_of(member(json, "kv"));
  const Json* type = find(json, "type");  // absent: it is a put
  EtcdEvent event;
  event.modified = item.entry.modified;
  event.change.key = std::move(item.entry.key);
  if (type == nullptr || *type == "PUT") {
    event.change.value = std::move(item.entry.value);
    event.change.lease = item.lease;
  } else if (*type != "DELETE") {
    throw Unreadable{"an event that is neither PUT nor DELETE"};
  }
  return event;
}

// Runs `read` on the parsed text; any failure becomes Corrupt.
template <class Read>
auto reading(const EtcdText& text, Read read) {
  try {
    return read(Json::parse(text.text));
  } catch (const Unreadable& e) {
    throw_no_etcd(text, e.what);
  } catch (const Json::exception&) {
    throw_no_etcd(text, "no JSON");
  }
}

}  // namespace

std::string get_request(const std::string& key) { return Json{{"key", to_base64(key)}}.dump(); }

std::string prefix_request(const std::string& prefix) { return range_of(prefix).dump(); }

std::string count_request(const std::string& prefix) {
  Json request = range_of(prefix);
  request["count_only"] = true;
  return request.dump();
}

std::string watch_request(const std::string& prefix, Revision from) {
  Json request = range_of(prefix);
  request["start_revision"] = number(from);
  return Json{{"create_request", std::move(request)}}.dump();
}

std::string grant_request(Duration ttl) {
  const auto whole = std::chrono::ceil<std::chrono::seconds>(ttl);
  return Json{{"TTL", number(whole.count())}}.dump();
}

std::string lease_request(LeaseId lease) { return Json{{"ID", number(lease)}}.dump(); }

std::string txn_request(const Transaction& transaction) {
  return txn(conditions(transaction), changes(transaction), Json::array());
}

std::string repeat_request(const Transaction& transaction) {
  if (transaction.when.empty())
    return txn(already_done(transaction), reads(transaction), changes(transaction));
  return txn(conditions(transaction), changes(transaction), reads(transaction));
}

Committed repeated(const Transaction& transaction, const TxnReply& reply) {
  const bool applied_now = reply.succeeded != transaction.when.empty();
  if (applied_now) return {.succeeded = true, .revision = reply.revision};
  // The other branch has read the keys. Checks whether they are as we would have left them, all
  // since one revision.
  Revision at = 0;
  for (const Change& change : transaction.then) {
    const auto it = std::ranges::find_if(
        reply.items, [&](const EtcdItem& item) { return item.entry.key == change.key; });
    const bool found = it != reply.items.end();
    if (found != change.value.has_value()) return {.succeeded = false, .revision = reply.revision};
    if (!found) continue;
    const bool ours = it->entry.value == *change.value && it->lease == change.lease &&
                      (at == 0 || it->entry.modified == at || transaction.when.empty());
    if (!ours) return {.succeeded = false, .revision = reply.revision};
    at = std::max(at, it->entry.modified);
  }
  return {.succeeded = true, .revision = at > 0 ? at : reply.revision};
}

RangeReply parse_range(const EtcdText& text) {
  return reading(text, [](const Json& json) {
    RangeReply reply;
    reply.revision = revision_of(json);
    for (const Json& kv : list_in(json, "kvs")) reply.items.push_back(item_of(kv));
    return reply;
  });
}

TxnReply parse_txn(const EtcdText& text) {
  return reading(text, [](const Json& json) {
    TxnReply reply;
    reply.revision = revision_of(json);
    reply.succeeded = flag_in(json, "succeeded");
    for (const Json& response : list_in(json, "responses")) {
      const Json* range = find(response, "response_range");
      if (range == nullptr) continue;
      for (const Json& kv : list_in(*range, "kvs")) reply.items.push_back(item_of(kv));
    }
    return reply;
  });
}

WatchReply parse_watch(const EtcdText& line) {
  return reading(line, [&](const Json& json) {
    WatchReply reply;
    if (find(json, "error") != nullptr) {
      const std::optional<EtcdRefusal> refusal = parse_refusal(line.text);
      reply.error = refusal ? refusal->message : excerpt(line.text);
      return reply;
    }
    const Json& result = member(json, "result");
    member(result, "header");
    reply.created = flag_in(result, "created");
    reply.cancelled = flag_in(result, "canceled");
    reply.compacted = number_in(result, "compact_revision");
    for (const Json& event : list_in(result, "events")) reply.events.push_back(event_of(event));
    return reply;
  });
}

Revision parse_header(const EtcdText& text) {
  return reading(text, [](const Json& json) { return revision_of(json); });
}

LeaseId parse_grant(const EtcdText& text) {
  return reading(text, [](const Json& json) {
    revision_of(json);
    return number_of(member(json, "ID"), "ID");
  });
}

bool parse_keepalive(const EtcdText& text) {
  return reading(text, [](const Json& json) {
    const Json& result = member(json, "result");
    revision_of(result);
    return number_in(result, "TTL") > 0;
  });
}

std::optional<EtcdRefusal> parse_refusal(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  // In a stream the error is an object of its own.
  const auto error = json.find("error");
  const bool nested = error != json.end() && error->is_object();
  const Json& refusal = nested ? *error : json;
  const auto code = refusal.find(nested ? "grpc_code" : "code");
  const auto message = refusal.find("message");
  if (code == refusal.end() || message == refusal.end()) return std::nullopt;
  if (!code->is_number_integer() || !message->is_string()) return std::nullopt;
  return EtcdRefusal{.code = code->get<int>(), .message = message->get<std::string>()};
}

std::string excerpt(const std::string& text) {
  std::string shown = text.substr(0, 100);
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return shown;
}

void throw_no_etcd(const EtcdText& text, const std::string& what) {
  throw Corrupt(
      fmt::format("{} does not answer as an etcd does ({}): '{}'; is this an etcd 3.4 or later?",
                  text.url, what, excerpt(text.text)));
}

}  // namespace shoal
