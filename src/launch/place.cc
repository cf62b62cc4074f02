#include "launch/place.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <span>

#include "base/error.h"
#include "base/hash.h"
#include "base/parse.h"

namespace shoal {
namespace {

// The variables for a value, in order of precedence; unused ones are null.
using Names = std::array<const char*, 4>;

// A value and the name of its variable, for messages.
struct Setting {
  std::string name;
  std::string value;
};

class Settings {
 public:
  explicit Settings(const Lookup& lookup) : lookup_(&lookup) {}

  // The first of these variables that is set and not empty.
  std::optional<Setting> first(const Names& names) const {
    for (const char* name : names) {
      if (name == nullptr) break;
      std::optional<std::string> value = (*lookup_)(name);
      if (value && !value->empty()) return Setting{name, std::move(*value)};
    }
    return std::nullopt;
  }
  std::string text(const Names& names) const {
    const auto setting = first(names);
    return setting ? setting->value : std::string();
  }
  std::optional<std::uint32_t> number(const Names& names) const {
    const auto setting = first(names);
    if (!setting) return std::nullopt;
    return parse(*setting, 0xffff'fffeU);
  }
  std::optional<std::uint16_t> port(const Names& names) const {
    const auto setting = first(names);
    if (!setting) return std::nullopt;
    const std::uint32_t value = parse(*setting, 65535);
    if (value == 0)
      throw ConfigError(fmt::format("{}=0 is not a port; take 1 to 65535", setting->name));
    return static_cast<std::uint16_t>(value);
  }

 private:
  static std::uint32_t parse(const Setting& s, std::uint32_t max) {
    const auto number = parse_number<std::uint32_t>(s.value, {.most = max});
    if (!number)
      throw ConfigError(fmt::format("{}={} is not an integer from 0 to {}", s.name, s.value, max));
    return *number;
  }
  const Lookup* lookup_;
};

// The variables of one launcher.
struct Dialect {
  const char* source;
  const char* sign;  // only this launcher sets it; null: the rank itself is the sign
  const char* rank;
  Names world;
  Names local_rank;
  Names local_world;
  Names job;
};

constexpr Dialect kShoal{"shoal launch",       nullptr,
                         "SHOAL_NODE",         {"SHOAL_WORLD_SIZE"},
                         {"SHOAL_LOCAL_RANK"}, {"SHOAL_LOCAL_WORLD_SIZE"},
                         {"SHOAL_JOB"}};
constexpr Dialect kTorchrun{
    "torchrun",           "TORCHELASTIC_RUN_ID",  "RANK", {"WORLD_SIZE"}, {"LOCAL_RANK"},
    {"LOCAL_WORLD_SIZE"}, {"TORCHELASTIC_RUN_ID"}};
constexpr Dialect kOpenMpi{"Open MPI",
                           nullptr,
                           "OMPI_COMM_WORLD_RANK",
                           {"OMPI_COMM_WORLD_SIZE"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE"},
                           {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri"}};
constexpr Dialect kPmi{"PMI",
                       nullptr,
                       "PMI_RANK",
                       {"PMI_SIZE"},
                       {"MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"},
                       {"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"},
                       {"PMI_JOBID", "SLURM_JOB_ID", "SLURM_JOBID"}};
constexpr Dialect kPmix{
    "PMIx",
    nullptr,
    "PMIX_RANK",
    {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "PMI_SIZE"},
    {"SLURM_LOCALID", "PMIX_LOCAL_RANK"},
    {"PMIX_LOCAL_SIZE"},
    {"PMIX_NAMESPACE"}};
constexpr Dialect kSlurm{"Slurm",
                         nullptr,
                         "SLURM_PROCID",
                         {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
                         {"SLURM_LOCALID"},
                         {},
                         {"SLURM_JOB_ID", "SLURM_JOBID"}};
constexpr Dialect kPlain{"RANK and WORLD_SIZE", nullptr,        "RANK",
                         {"WORLD_SIZE"},        {"LOCAL_RANK"}, {"LOCAL_WORLD_SIZE"},
                         {"SHOAL_JOB"}};

std::string joined(const Names& names) {
  std::string text;
  for (const char* name : names)
    if (name != nullptr) text += (text.empty() ? "" : " or ") + std::string(name);
  return text;
}

bool speaks(const Settings& set, const Dialect& d) {
  return set.first({d.sign != nullptr ? d.sign : d.rank}).has_value();
}

bool one_node_of_slurm(const Settings& set, std::uint32_t world) {
  const auto nodes = set.number({"SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"});
  return nodes ? *nodes == 1 : world == 1;
}

Place read_place(const Settings& set, const Dialect& d) {
  Place place;
  place.source = d.source;
  const auto rank = set.number({d.rank});
  const auto world = set.number(d.world);
  if (!rank) throw ConfigError(fmt::format("{} started this, but {} is not set", d.source, d.rank));
  if (!world)
    throw ConfigError(fmt::format("{}={}, but {} is not set; set both, or neither", d.rank, *rank,
                                  joined(d.world)));
  if (*rank >= *world)
    throw ConfigError(fmt::format("{}={} is not a rank of {}={}; ranks count from 0", d.rank, *rank,
                                  set.first(d.world)->name, *world));
  place.rank = *rank;
  place.world = *world;

  const auto local_rank = set.number(d.local_rank);
  const auto local_world = set.number(d.local_world);
  place.local_world = local_world.value_or(*world == 1 ? 1 : 0);
  if (&d == &kSlurm || &d == &kPmix) {
    if (!local_world && one_node_of_slurm(set, *world)) place.local_world = *world;
  }
  place.local_rank = local_rank.value_or(place.one_host() ? *rank : 0);
  if (local_world && local_rank && *local_rank >= *local_world)
    throw ConfigError(fmt::format("{}={} is not a rank of {}={}; ranks count from 0",
                                  set.first(d.local_rank)->name, *local_rank,
                                  set.first(d.local_world)->name, *local_world));
  if (place.local_world > place.world)
    throw ConfigError(fmt::format("{}={} is more than {}={}", set.first(d.local_world)->name,
                                  place.local_world, set.first(d.world)->name, *world));
  place.job = set.text(d.job);
  return place;
}

void read_life(const Settings& set, const Dialect& d, Place& place) {
  if (&d == &kShoal) place.life = set.number({"SHOAL_LIFE"}).value_or(1);
  if (&d == &kTorchrun) place.life = set.number({"TORCHELASTIC_RESTART_COUNT"}).value_or(0) + 1;
  // Each step of a Slurm job is a job of its own.
  const std::string step = set.text({"SLURM_STEP_ID", "SLURM_STEPID"});
  const bool slurm = !place.job.empty() && place.job == set.text({"SLURM_JOB_ID", "SLURM_JOBID"});
  if (slurm && !step.empty()) place.job += "." + step;
}

void read_master(const Settings& set, const Dialect& d, Place& place) {
  if (place.world == 1 && place.job.empty()) place.job = "alone";
  place.master_addr = set.text({"SHOAL_MASTER_ADDR", "MASTER_ADDR"});
  if (place.master_addr.empty() && (&d == &kSlurm || &d == &kPmix || &d == &kPmi)) {
    const std::string list = set.text({"SLURM_STEP_NODELIST", "SLURM_NODELIST"});
    if (!list.empty()) place.master_addr = first_host(list);
  }
  if (place.master_addr.empty() && place.one_host()) place.master_addr = "127.0.0.1";
  if (place.master_addr.empty())
    throw ConfigError(fmt::format(
        "{} (rank {} of {}) does not give the address of rank 0; set MASTER_ADDR to the "
        "address of its host, or to 127.0.0.1 if all ranks are on one host",
        d.source, place.rank, place.world));

  const auto port = set.port({"SHOAL_MASTER_PORT", "MASTER_PORT"});
  // torchrun itself listens on its MASTER_PORT, so the job uses another port.
  const bool taken = &d == &kTorchrun && set.text({"TORCHELASTIC_USE_AGENT_STORE"}) == "True";
  if (port && !taken) {
    place.master_port = *port;
  } else if (!place.job.empty() && place.world > 1) {
    place.master_port = port_of_job(place.job + (port ? fmt::format(":{}", *port) : ""));
  } else if (place.world > 1) {
    throw ConfigError(
        fmt::format("{} (rank {} of {}) gives neither a port nor a job; set "
                    "MASTER_PORT, the same for all ranks",
                    d.source, place.rank, place.world));
  }
  if (place.job.empty()) place.job = fmt::format("{}-{}", place.master_addr, place.master_port);
}

// Two launchers that describe the same process must agree.
void refuse_contradiction(const Settings& set, const Dialect& a, const Dialect& b) {
  if (!speaks(set, a) || !speaks(set, b) || std::string(a.rank) == b.rank) return;
  const auto refuse = [&](const Setting& x, const Setting& y) {
    throw ConfigError(
        fmt::format("{}={} ({}) contradicts {}={} ({}); unset the variables of the launcher "
                    "that did not start this process",
                    x.name, x.value, a.source, y.name, y.value, b.source));
  };
  if (set.number({a.rank}) != set.number({b.rank}))
    refuse(*set.first({a.rank}), *set.first({b.rank}));
  const auto wa = set.number(a.world);
  const auto wb = set.number(b.world);
  if (wa && wb && *wa != *wb) refuse(*set.first(a.world), *set.first(b.world));
}

}  // namespace

Lookup environment_of_this_process() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

std::uint16_t port_of_job(const std::string& job) {
  const std::uint64_t hash = hash_of(std::span<const char>(job));
  return static_cast<std::uint16_t>(20000 + hash % 10000);
}

Place place_from_environment(const Lookup& lookup) {
  const Settings set(lookup);
  const Dialect* dialect = nullptr;
  // A batch script of Slurm has SLURM_PROCID=0 too; only processes of srun are in a step.
  const bool in_step =
      set.first({"SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NODELIST"}).has_value();
  for (const Dialect* d : {&kShoal, &kTorchrun, &kOpenMpi, &kPmi, &kPmix, &kSlurm, &kPlain}) {
    if (!speaks(set, *d) || (d == &kSlurm && !in_step)) continue;
    dialect = d;
    break;
  }
  if (dialect == nullptr && set.first({"WORLD_SIZE"}))
    throw ConfigError(fmt::format("WORLD_SIZE={}, but RANK is not set; set both, or neither",
                                  set.text({"WORLD_SIZE"})));
  if (dialect == nullptr) return Place{};
  // Ours and torchrun's are the innermost: other variables describe where those were started.
  if (dialect != &kShoal && dialect != &kTorchrun) {
    for (const Dialect* d : {&kOpenMpi, &kPmi, &kPmix, &kPlain})
      if (dialect != &kSlurm || d == &kPlain) refuse_contradiction(set, *dialect, *d);
  }
  Place place = read_place(set, *dialect);
  read_life(set, *dialect, place);
  read_master(set, *dialect, place);
  return place;
}

std::string to_json(const Place& p) {
  // Values of the environment may contain anything.
  const auto quoted = [](const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      } else {
        out += c;
      }
    }
    return out + "\"";
  };
  return fmt::format(R"({{"rank":{},"world":{},"local_rank":{},"local_world":{},"master_addr":{},)"
                     R"("master_port":{},"job":{},"life":{},"source":{}}})",
                     p.rank, p.world, p.local_rank, p.local_world, quoted(p.master_addr),
                     p.master_port, quoted(p.job), p.life, quoted(p.source));
}

std::string first_host(const std::string& nodelist) {
  const auto refuse = [&](const char* why) {
    return ConfigError(
        fmt::format("'{}' is not a list of hosts in Slurm's format: {}", nodelist, why));
  };
  std::string host;
  for (std::size_t at = 0; at < nodelist.size() && nodelist[at] != ',';) {
    if (nodelist[at] == ']') throw refuse("a ] without its [");
    if (nodelist[at] != '[') {
      host += nodelist[at++];
      continue;
    }
    const std::size_t close = nodelist.find(']', at);
    if (close == std::string::npos) throw refuse("a [ without its ]");
    // The first number of "03-07,12", with its leading zeros.
    const std::size_t end = nodelist.find_first_of("-,]", at);
    const std::string first = nodelist.substr(at + 1, end - at - 1);
    if (first.empty() || first.find_first_not_of("0123456789") != std::string::npos)
      throw refuse("the brackets should contain numbers, ranges and commas");
    host += first;
    at = close + 1;
  }
  if (host.empty()) throw refuse("the first host has no name");
  return host;
}

}  // namespace shoal
