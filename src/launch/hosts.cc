#include "launch/hosts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"

namespace shoal {
namespace {

struct Asked {
  std::string host;
  std::uint32_t slots = 0;  // 0: not given
};

bool is_host_name(const std::string& name) {
  // ssh would take a leading dash for an option.
  if (name.empty() || name.front() == '-') return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_' || c == '@';
  });
}

Asked parse_host(const std::string& item, const std::string& list) {
  const auto refuse = [&](const char* why) {
    return ConfigError(
        fmt::format("--hosts {}: '{}' {}; write it like a,b:2,user@c", list, item, why));
  };
  const std::size_t colon = item.find(':');
  Asked asked{item.substr(0, colon)};
  if (!is_host_name(asked.host)) throw refuse("is not the name of a host");
  if (colon == std::string::npos) return asked;
  const auto slots =
      parse_number<std::uint32_t>(std::string_view(item).substr(colon + 1), {.least = 1});
  if (!slots) throw refuse("needs a number of ranks, at least 1, after its colon");
  asked.slots = *slots;
  return asked;
}

}  // namespace

std::vector<HostShare> deal_ranks(const std::string& hosts, std::optional<std::uint32_t> ranks) {
  std::vector<Asked> asked;
  for (std::size_t at = 0; at <= hosts.size();) {
    const std::size_t end = std::min(hosts.find(',', at), hosts.size());
    asked.push_back(parse_host(hosts.substr(at, end - at), hosts));
    const auto same = [&](const Asked& a) { return a.host == asked.back().host; };
    if (std::ranges::count_if(asked, same) > 1)
      throw ConfigError(fmt::format("--hosts {}: {} is repeated; write {}:2", hosts,
                                    asked.back().host, asked.back().host));
    at = end + 1;
  }
  const bool any_says = std::ranges::any_of(asked, [](const Asked& a) { return a.slots > 0; });
  std::uint64_t room = 0;
  for (Asked& a : asked) {
    if (any_says || !ranks) a.slots = std::max(a.slots, 1U);
    room += a.slots;
  }
  if (any_says && ranks && *ranks > room)
    throw ConfigError(
        fmt::format("-n {} is more than the {} ranks that --hosts {} takes", *ranks, room, hosts));

  std::vector<HostShare> shares;
  std::uint32_t left = ranks.value_or(static_cast<std::uint32_t>(room));
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < asked.size() && left > 0; ++i) {
    const auto hosts_left = static_cast<std::uint32_t>(asked.size() - i);
    const std::uint32_t even = (left + hosts_left - 1) / hosts_left;
    const std::uint32_t count = asked[i].slots > 0 ? std::min(asked[i].slots, left) : even;
    shares.push_back({asked[i].host, first, count});
    first += count;
    left -= count;
  }
  return shares;
}

}  // namespace shoal
