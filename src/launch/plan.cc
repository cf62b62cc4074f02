// Derives the command and environment of each process from the options of a job.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"
#include "launch/descriptor.h"
#include "launch/job.h"
#include "launch/remote.h"
#include "launch/token.h"

namespace shoal {
namespace {

// An outer launch may have set these; they must not be passed on.
constexpr const char* kOuter[] = {"SHOAL_TOKEN_FILE", "SHOAL_TOKEN_FD", "SHOAL_COORDINATOR",
                                  "SHOAL_MINIMUM"};

bool is_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  if (text[0] >= '0' && text[0] <= '9') return false;
  return std::ranges::all_of(text.substr(0, equals), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
}

// Parses "address", "address:port", "[v6]:port". Port 0: not given.
std::pair<std::string, std::uint16_t> parse_listen(const std::string& text) {
  const auto refuse = [&](const char* why) {
    return ConfigError(fmt::format("--listen {}: {}; write ADDRESS or ADDRESS:PORT", text, why));
  };
  std::string address = text;
  std::string port;
  const bool bracketed = text.starts_with('[');
  const std::size_t close = bracketed ? text.find(']') : 0;
  if (close == std::string::npos) throw refuse("a [ without its ]");
  const std::size_t colon = text.find(':', close);
  const bool bare_v6 = !bracketed && std::ranges::count(text, ':') > 1;
  if (colon != std::string::npos && !bare_v6) {
    address = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) throw refuse("the port is missing");
  }
  if (bracketed) address = text.substr(1, close - 1);
  if (address.empty() || address.find_first_of(" \t,/") != std::string::npos)
    throw refuse("that is not an address");
  if (port.empty()) return {address, 0};
  const auto number = parse_number<std::uint16_t>(port, {.least = 1});
  if (!number) throw refuse("the port should be 1 to 65535");
  return {address, *number};
}

// A port that is free now; if that cannot be tried, one derived from the job's name.
std::uint16_t free_port(const std::string& job) {
  const Descriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (!probe.valid() || bind(probe.get(), any, size) != 0 ||
      getsockname(probe.get(), any, &size) != 0)
    return port_of_job(job);
  return ntohs(address.sin_port);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

const HostShare& share_of(const JobPlan& plan, std::uint32_t rank) {
  return *std::ranges::find_if(
      plan.shares, [&](const HostShare& s) { return rank >= s.first && rank - s.first < s.count; });
}

}  // namespace

std::map<std::string, std::string> whole_environment() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

JobPlan plan_job(LaunchOptions& options) {
  JobPlan plan;
  if (options.program.empty())
    throw ConfigError(
        "the program is missing; write it after --: shoal launch -n 4 -- PROGRAM ARGUMENT...");
  if (options.ranks && (*options.ranks == 0 || *options.ranks > 100'000))
    throw ConfigError(fmt::format("-n {}: take 1 to 100000 processes", *options.ranks));
  if (options.ranks && options.minimum > *options.ranks)
    throw ConfigError(fmt::format("at least {} of {} processes: the minimum is above the maximum",
                                  options.minimum, *options.ranks));
  for (const std::string& setting : options.settings)
    if (!is_setting(setting))
      throw ConfigError(fmt::format("--env {}: write it as NAME=value", setting));

  if (!options.hosts.empty()) {
    plan.shares = deal_ranks(options.hosts, options.ranks);
  } else {
    if (!options.ranks)
      throw ConfigError("the number of processes is missing; give -n N, or --hosts");
    plan.shares = {HostShare{"", 0, *options.ranks}};
  }
  for (const HostShare& s : plan.shares) plan.world += s.count;
  plan.minimum = options.minimum;

  const std::string path = options.environment.contains("PATH") ? options.environment.at("PATH")
                                                                : "/usr/local/bin:/usr/bin:/bin";
  std::string& program = options.program.front();
  plan.token = new_token();
  plan.name = !options.name.empty()
                  ? options.name
                  : fmt::format("{}-{}", base_name(program), new_token().substr(0, 8));
  // On other hosts the program is searched there; only ssh is needed here.
  if (options.hosts.empty())
    program = find_program(program, path);
  else
    find_program(ssh_words(options.environment["SHOAL_SSH"]).front(), path);

  std::string listen_address;
  if (!options.listen.empty())
    std::tie(listen_address, plan.master_port) = parse_listen(options.listen);
  const std::string first = plan.shares.front().host;
  plan.master_addr = !listen_address.empty() ? listen_address
                     : first.empty()         ? "127.0.0.1"
                                             : first.substr(first.find('@') + 1);
  if (plan.master_port == 0)
    plan.master_port = options.hosts.empty() ? free_port(plan.name) : port_of_job(plan.name);
  plan.office = options.stores.empty() && (options.hosts.empty() || !listen_address.empty());
  return plan;
}

ProcessPlan plan_process(const LaunchOptions& options, const JobPlan& plan, std::uint32_t rank,
                         std::uint32_t life) {
  const HostShare& share = share_of(plan, rank);
  const std::string local_rank = std::to_string(rank - share.first);
  const std::string local_world = std::to_string(share.count);
  std::map<std::string, std::string> place = {
      {"SHOAL_NODE", std::to_string(rank)},
      {"SHOAL_WORLD_SIZE", std::to_string(plan.world)},
      {"SHOAL_LOCAL_RANK", local_rank},
      {"SHOAL_LOCAL_WORLD_SIZE", local_world},
      {"SHOAL_MASTER_ADDR", plan.master_addr},
      {"SHOAL_MASTER_PORT", std::to_string(plan.master_port)},
      {"SHOAL_JOB", plan.name},
      {"SHOAL_LIFE", std::to_string(life)},
      // For programs that do not know Shoal.
      {"RANK", std::to_string(rank)},
      {"WORLD_SIZE", std::to_string(plan.world)},
      {"LOCAL_RANK", local_rank},
      {"LOCAL_WORLD_SIZE", local_world},
      {"MASTER_ADDR", plan.master_addr},
      {"MASTER_PORT", std::to_string(plan.master_port)},
  };
  if (!options.stores.empty()) place["SHOAL_STORE"] = options.stores;
  if (plan.office) place["SHOAL_COORDINATOR"] = "launcher";
  if (!options.listen.empty()) place["SHOAL_LISTEN"] = options.listen;
  if (options.minimum > 1) place["SHOAL_MINIMUM"] = std::to_string(options.minimum);
  for (const std::string& setting : options.settings) {
    const std::size_t equals = setting.find('=');
    place[setting.substr(0, equals)] = setting.substr(equals + 1);
  }

  ProcessPlan process;
  if (options.tag.value_or(plan.world > 1)) process.prefix = fmt::format("[{}] ", rank);
  process.raw = (plan.world == 1 || options.raw) && process.prefix.empty();
  std::map<std::string, std::string> environment = options.environment;
  for (const char* name : kOuter) environment.erase(name);
  process.remote = !share.host.empty();
  if (process.remote) {
    RemoteCommand remote{options.directory, {}, options.program};
    for (const auto& [name, value] : place)
      remote.environment.push_back(fmt::format("{}={}", name, value));
    const std::string path =
        environment.contains("PATH") ? environment.at("PATH") : "/usr/local/bin:/usr/bin:/bin";
    process.command = ssh_words(environment["SHOAL_SSH"]);
    process.command.front() = find_program(process.command.front(), path);
    process.command.push_back(share.host);
    process.command.push_back(remote_script(remote));
    process.greeting = plan.token + "\n";
  } else {
    process.command = options.program;
    process.token = plan.token;
    place["SHOAL_TOKEN_FD"] = std::to_string(kTokenDescriptor);
    for (const auto& [name, value] : place) environment[name] = value;
  }
  for (const auto& [name, value] : environment)
    process.environment.push_back(fmt::format("{}={}", name, value));
  return process;
}

}  // namespace shoal
