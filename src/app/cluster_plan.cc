#include "app/cluster_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "base/nearest.h"
#include "sim/words.h"
#include "train/config_file.h"

namespace shoal {
namespace {

constexpr std::uint64_t kNodesMax = 100'000;
constexpr const char* kMemory = "80gbit:1us";

// ---- By name

struct Preset {
  std::string_view name;
  std::string_view network;
  std::uint64_t rack_hosts = 0;  // in a rack; 0: there are none. 1: half of all
  std::string_view uplink = {};
  std::vector<double> speeds = {1};  // of hosts, in turn
  std::string_view stragglers = "none";
};

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = {
      {"1gbit", "1gbit:50us"},
      {"10gbit", "10gbit:20us"},
      {"25gbit", "25gbit:10us"},
      {"100gbit", "100gbit:5us"},
      {"infiniband-hdr", "200gbit:1.5us"},
      // Machines of several generations, shared with other jobs.
      {"cloud", "10gbit:50us", 16, "40gbit:20us", {1, 0.85, 1.15, 0.7}, "jitter:0.15"},
      {"two-sites", "10gbit:20us", 1, "1gbit:20ms"},
  };
  return all;
}

// ---- From a file

std::string name_of(std::string_view key, std::size_t dots) {
  for (; dots > 0; --dots) key.remove_prefix(key.find('.') + 1);
  return std::string(key.substr(0, key.find('.')));
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : file_(file), entries_(parse_config(text, file)) {
    for (const ConfigEntry& entry : entries_) require_known(entry);
  }

  // The tables of a kind, in the file's order.
  std::vector<std::string> tables(const std::string& kind) const {
    std::vector<std::string> names;
    for (const ConfigEntry& entry : entries_) {
      if (!entry.key.starts_with(kind + ".")) continue;
      const std::string name = name_of(entry.key, 1);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names;
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const ConfigEntry* const entry = find(key);
    if (entry == nullptr) return otherwise;
    const std::string* const value = std::get_if<std::string>(&entry->value);
    if (value == nullptr) refuse(*entry, "take a text in quotes");
    return *value;
  }
  std::string required(const std::string& key) const {
    if (find(key) == nullptr)
      throw ConfigError(fmt::format("{}: {} is missing, as in \"10gbit:20us\"", file_, key));
    return text(key, "");
  }
  std::uint64_t count(const std::string& key, std::uint64_t least, std::uint64_t otherwise) const {
    const ConfigEntry* const entry = find(key);
    if (entry == nullptr) return otherwise;
    const std::int64_t* const value = std::get_if<std::int64_t>(&entry->value);
    if (value == nullptr || *value < static_cast<std::int64_t>(least) ||
        *value > static_cast<std::int64_t>(kNodesMax))
      refuse(*entry, fmt::format("take a whole number from {} to {}", least, kNodesMax));
    return static_cast<std::uint64_t>(*value);
  }
  double speed(const std::string& key) const {
    const ConfigEntry* const entry = find(key);
    if (entry == nullptr) return 1;
    double value = 0;
    if (const auto* const n = std::get_if<std::int64_t>(&entry->value))
      value = static_cast<double>(*n);
    if (const auto* const x = std::get_if<double>(&entry->value)) value = *x;
    if (!(value >= 1e-3 && value <= 1e3)) refuse(*entry, "take a number from 0.001 to 1000");
    return value;
  }
  LinkModel link(const std::string& key, const std::string& value) const {
    return parse_link(fmt::format("{}: {}", file_, key), value);
  }
  [[noreturn]] void refuse(const std::string& key, const std::string& why) const {
    throw ConfigError(fmt::format("{}: {}: {}", file_, key, why));
  }

 private:
  const ConfigEntry* find(const std::string& key) const {
    const auto it = std::ranges::find(entries_, key, &ConfigEntry::key);
    return it == entries_.end() ? nullptr : &*it;
  }
  [[noreturn]] void refuse(const ConfigEntry& entry, const std::string& why) const {
    throw ConfigError(
        fmt::format("{}:{}: {} = {}: {}", file_, entry.line, entry.key, to_text(entry.value), why));
  }
  void require_known(const ConfigEntry& entry) const {
    const std::map<std::string, std::vector<std::string>> tables = {
        {"hosts", {"count", "workers", "servers", "cores", "speed", "network", "memory", "rack"}},
        {"racks", {"uplink"}}};
    const std::vector<std::string> top = {"stragglers", "faults", "hosts", "racks"};
    const std::string first = name_of(entry.key, 0);
    const auto dots = std::ranges::count(entry.key, '.');
    const auto table = tables.find(first);
    if (table == tables.end()) {
      if (dots == 0 && std::ranges::find(top, first) != top.end()) return;
      refuse(entry, fmt::format("'{}' is not known. {}", first, suggest(first, top)));
    }
    if (dots != 2) refuse(entry, fmt::format("take [{}.NAME], with these settings in it", first));
    const std::string last = name_of(entry.key, 2);
    if (std::ranges::find(table->second, last) == table->second.end())
      refuse(entry, fmt::format("'{}' is not known. {}", last, suggest(last, table->second)));
  }

  const std::string& file_;
  std::vector<ConfigEntry> entries_;
};

// How many more of a role there is room for on each host.
using Room = std::vector<std::uint64_t>;

// One after the other, host by host. False: there is not enough room.
bool place(Cluster& cluster, Role role, std::uint64_t nodes, const Room& room) {
  for (std::size_t host = 0; host < room.size() && nodes > 0; ++host)
    for (std::uint64_t i = 0; i < room[host] && nodes > 0; ++i, --nodes)
      cluster.nodes.push_back({HostId(static_cast<std::uint32_t>(host)), role});
  return nodes == 0;
}

std::uint64_t sum(const Room& room) {
  std::uint64_t all = 0;
  for (const std::uint64_t n : room) all += n;
  return all;
}

}  // namespace

std::vector<std::string> cluster_presets() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  return names;
}

ClusterPlan preset_cluster(std::string_view name, std::uint64_t workers, std::uint64_t servers,
                           std::uint64_t hosts_of) {
  const auto preset = std::ranges::find(presets(), name, &Preset::name);
  SHOAL_CHECK(preset != presets().end(), "there is no cluster {}", name);
  ClusterPlan plan;
  plan.workers = workers;
  plan.stragglers = preset->stragglers;
  const std::uint64_t nodes = workers + servers;
  const std::uint64_t hosts = (nodes + hosts_of - 1) / hosts_of;
  const std::uint64_t in_rack = preset->rack_hosts == 1 ? (hosts + 1) / 2 : preset->rack_hosts;
  for (std::uint64_t h = 0; h < hosts; ++h) {
    HostModel host;
    host.cores = static_cast<unsigned>(hosts_of);
    host.nic = parse_link("--cluster", preset->network);
    host.memory = parse_link("--cluster", kMemory);
    host.speed = preset->speeds[h % preset->speeds.size()];
    if (in_rack > 0) host.rack = h / in_rack;
    plan.cluster.hosts.push_back(host);
  }
  if (in_rack > 0)
    plan.cluster.racks.assign((hosts + in_rack - 1) / in_rack,
                              parse_link("--cluster", preset->uplink));
  for (std::uint64_t i = 0; i < nodes; ++i)
    plan.cluster.nodes.push_back(Placement{HostId(static_cast<std::uint32_t>(i / hosts_of)),
                                           i < workers ? Role::Worker : Role::Server});
  return plan;
}

ClusterPlan parse_cluster(std::string_view text, const std::string& file,
                          std::optional<std::uint64_t> workers, std::uint64_t servers) {
  const Reader reader(text, file);
  ClusterPlan plan;
  plan.stragglers = reader.text("stragglers", plan.stragglers);
  plan.faults = reader.text("faults", plan.faults);
  std::vector<std::string> racks = reader.tables("racks");
  for (const std::string& rack : racks) {
    const std::string key = fmt::format("racks.{}.uplink", rack);
    plan.cluster.racks.push_back(reader.link(key, reader.required(key)));
  }
  Room for_workers, for_servers;
  for (const std::string& name : reader.tables("hosts")) {
    const auto key = [&](const char* what) { return fmt::format("hosts.{}.{}", name, what); };
    const std::uint64_t each = reader.count(key("workers"), 0, 1);
    const std::uint64_t ps = reader.count(key("servers"), 0, 0);
    HostModel host;
    host.cores =
        static_cast<unsigned>(reader.count(key("cores"), 1, std::max<std::uint64_t>(1, each + ps)));
    host.speed = reader.speed(key("speed"));
    host.nic = reader.link(key("network"), reader.required(key("network")));
    host.memory = reader.link(key("memory"), reader.text(key("memory"), kMemory));
    if (const std::string rack = reader.text(key("rack"), ""); !rack.empty()) {
      const auto it = std::ranges::find(racks, rack);
      if (it == racks.end())
        reader.refuse(key("rack"),
                      fmt::format("there is no [racks.{}]. {}", rack, suggest(rack, racks)));
      host.rack = static_cast<std::size_t>(it - racks.begin());
    }
    const std::uint64_t count = reader.count(key("count"), 1, 1);
    if (plan.cluster.hosts.size() + count > kNodesMax || count * (each + ps) > kNodesMax)
      reader.refuse(key("count"), fmt::format("more than {} nodes", kNodesMax));
    plan.cluster.hosts.insert(plan.cluster.hosts.end(), count, host);
    for_workers.insert(for_workers.end(), count, each);
    for_servers.insert(for_servers.end(), count, ps);
  }
  plan.workers = workers.value_or(sum(for_workers));
  if (plan.workers == 0)
    throw ConfigError(fmt::format(
        "{}: no host has a worker; say [hosts.NAME] with count, workers and network", file));
  if (!place(plan.cluster, Role::Worker, plan.workers, for_workers))
    throw ConfigError(fmt::format("--workers {}: {} has room for {}; take fewer, or more hosts",
                                  plan.workers, file, sum(for_workers)));
  if (!place(plan.cluster, Role::Server, servers, for_servers))
    throw ConfigError(fmt::format("--servers {}: {} has room for {}; say servers = N at a host",
                                  servers, file, sum(for_servers)));
  return plan;
}

}  // namespace shoal
