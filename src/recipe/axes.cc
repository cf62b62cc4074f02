#include "recipe/axes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "base/nearest.h"

namespace shoal {
namespace {

constexpr std::array<std::string_view, 6> kUpdaters = {"everyone", "owners", "root",
                                                       "servers",  "apart",  "decentral"};
constexpr std::array<std::string_view, 4> kStragglerPolicies = {"all", "first", "fastest",
                                                                "redundant"};
constexpr std::array<std::string_view, 4> kOrders = {"fifo", "wfbp", "priority", "magnitude"};
constexpr std::array<std::string_view, 2> kBalances = {"even", "auto"};
constexpr std::array<std::string_view, 2> kKeeps = {"global", "worker"};
constexpr std::array<std::string_view, 2> kPaces = {"sync", "async"};
constexpr std::array<std::string_view, 3> kCombines = {"none", "mean", "vote"};
constexpr std::array<std::string_view, 2> kSwitch = {"yes", "no"};

std::vector<std::string> words(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

template <class Choice>
Choice choice(std::string_view flag, std::span<const std::string_view> names,
              std::string_view value) {
  const auto it = std::ranges::find(names, value);
  if (it == names.end())
    throw ConfigError(
        fmt::format("{} {}: this is not known. {}", flag, value, suggest(value, words(names))));
  return static_cast<Choice>(it - names.begin());
}

template <class Choice>
std::string name(std::span<const std::string_view> names, Choice c) {
  return std::string(names[static_cast<std::size_t>(c)]);
}

template <class Number>
Number number(std::string_view flag, std::string_view value, std::string_view kind) {
  Number n = 0;
  const char* const end = value.data() + value.size();
  const auto [stopped, error] = std::from_chars(value.data(), end, n);
  if (error != std::errc{} || stopped != end)
    throw ConfigError(fmt::format("{} {}: needed is {}", flag, value, kind));
  return n;
}

std::uint32_t count(std::string_view flag, std::string_view value) {
  return number<std::uint32_t>(flag, value, "a whole number from 0 on");
}

std::vector<std::string> exchanges() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kExchanges; ++i)
    names.emplace_back(to_string(static_cast<Exchange>(i)));
  return names;
}

std::string rate(double value) { return value < 0 ? "auto" : fmt::format("{}", value); }

double parse_rate(std::string_view flag, std::string_view value) {
  if (value == "auto") return kAuto;
  const auto n = number<double>(flag, value, "a number from 0 on, or auto");
  if (n < 0) throw ConfigError(fmt::format("{} {}: it is at least 0, or auto", flag, value));
  return n;
}

std::vector<std::string> encoded_forms() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kEncodedForms; ++i)
    names.emplace_back(to_string(static_cast<EncodedForm>(i)));
  return names;
}

std::vector<std::string> algorithms() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kAlgorithms; ++i)
    names.emplace_back(to_string(static_cast<Algorithm>(i)));
  return names;
}

// Three fields say it: it is one axis, and what a budget lets through is chosen by its filter.
enum class SendOrder : std::uint8_t { Fifo, Wfbp, Priority, Magnitude };

SendOrder order_of(const Recipe& r) {
  if (std::holds_alternative<filter::Magnitude>(r.ps.filter)) return SendOrder::Magnitude;
  if (r.priority) return SendOrder::Priority;
  return r.overlap ? SendOrder::Wfbp : SendOrder::Fifo;
}

void set_order(Recipe& r, SendOrder order) {
  const bool by_magnitude = std::holds_alternative<filter::Magnitude>(r.ps.filter);
  r.overlap = order == SendOrder::Wfbp || order == SendOrder::Priority;
  r.priority = order == SendOrder::Priority;
  if (order == SendOrder::Magnitude && !by_magnitude) r.ps.filter = filter::Magnitude{};
  if (order != SendOrder::Magnitude && by_magnitude) r.ps.filter = filter::None{};
}

std::array<Axis, kAxes> make_axes() {
  return {{
      {"exchange", "which algorithm sums the gradients; auto: by measured costs", exchanges(),
       [](const Recipe& r) { return std::string(to_string(r.exchange)); },
       [](Recipe& r, std::string_view v) { r.exchange = parse_exchange(v); }},
      {"update",
       "who applies the update: everyone all of it, owners a part each, the root, servers; each: "
       "to a model of its own; apart: as well, to measure what an exchange costs",
       words(kUpdaters), [](const Recipe& r) { return name(kUpdaters, r.updater); },
       [](Recipe& r, std::string_view v) {
         r.updater = choice<Updater>("--update", kUpdaters, v);
       }},
      {"order",
       "of sending: fifo, all at the end of backward; wfbp, as backward makes them; priority, "
       "first "
       "layers first, and the next forward pass begins with them; magnitude, the largest changes "
       "first (of pushes to servers: --filter magnitude:RATE)",
       words(kOrders), [](const Recipe& r) { return name(kOrders, order_of(r)); },
       [](Recipe& r, std::string_view v) {
         set_order(r, choice<SendOrder>("--order", kOrders, v));
       }},
      {"straggler-policy", "whose gradients of a step count", words(kStragglerPolicies),
       [](const Recipe& r) { return name(kStragglerPolicies, r.stragglers); },
       [](Recipe& r, std::string_view v) {
         r.stragglers = choice<StragglerPolicy>("--straggler-policy", kStragglerPolicies, v);
       }},
      {"backups",
       "workers whose gradients `--straggler-policy first` does not wait for",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.backups); },
       [](Recipe& r, std::string_view v) { r.backups = count("--backups", v); }},
      {"epoch-fraction",
       "of its samples, after which an epoch ends; the rest is dropped",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.epoch_fraction); },
       [](Recipe& r, std::string_view v) {
         r.epoch_fraction = number<double>("--epoch-fraction", v, "a number");
       }},
      {"accumulate",
       "passes over as many smaller portions before an exchange",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.accumulate); },
       [](Recipe& r, std::string_view v) { r.accumulate = count("--accumulate", v); }},
      {"balance", "shares of a batch: equal, or by measured speed", words(kBalances),
       [](const Recipe& r) { return name(kBalances, r.balance); },
       [](Recipe& r, std::string_view v) {
         r.balance = choice<Balance>("--balance", kBalances, v);
       }},
      {"keep-batch", "which batch stays as it is when workers come and go", words(kKeeps),
       [](const Recipe& r) { return name(kKeeps, r.keep); },
       [](Recipe& r, std::string_view v) {
         r.keep = choice<KeepBatch>("--keep-batch", kKeeps, v);
       }},
      {"shards",
       "logical shards summed in one fixed order: same bits for any number of workers; "
       "0: none",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.shards); },
       [](Recipe& r, std::string_view v) { r.shards = count("--shards", v); }},
      {"batch-norm",
       "over which samples: local, a worker's; group:K, as many of them; sync, all workers'",
       {"local", "group:32", "sync"},
       [](const Recipe& r) { return to_string(r.batch_norm); },
       [](Recipe& r, std::string_view v) { r.batch_norm = parse_batch_norm(v); }},
      {"encode",
       "what gradients are sent as; +ef: what was not sent is added to the next gradient; +zstd: "
       "compressed as well; of some layers: LAYER=.., after a comma; models that meet send what "
       "they differ by",
       encoding_texts([](const EncodingExamples& e) { return e.usual; }),
       [](const Recipe& r) { return encode_text(r.encode); },
       [](Recipe& r, std::string_view v) { parse_encode(v, r.encode); }},
      {"encode-pulls", "what the servers send parameters as",
       encoding_texts([](const EncodingExamples& e) { return e.models; }),
       [](const Recipe& r) { return to_string(r.ps.pulls); },
       [](Recipe& r, std::string_view v) { r.ps.pulls = parse_encoding(v); }},
      {"encoded-by", "which way sums of encoded gradients go", encoded_forms(),
       [](const Recipe& r) { return std::string(to_string(r.encode.by)); },
       [](Recipe& r, std::string_view v) { r.encode.by = parse_encoded_form(v); }},
      {"encode-after",
       "epochs at the beginning, in which gradients go as they are",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.encode.after); },
       [](Recipe& r, std::string_view v) {
         r.encode.after = number<double>("--encode-after", v, "a number");
       }},
      {"consistency", "of servers: when a worker may read, and what an update is made of",
       values_of<Consistency>(), [](const Recipe& r) { return to_string(r.ps.consistency); },
       [](Recipe& r, std::string_view v) { r.ps.consistency = parse_consistency(v); }},
      {"servers",
       "processes of their own beside the workers; 0: each worker serves a part",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.ps.servers); },
       [](Recipe& r, std::string_view v) { r.ps.servers = count("--servers", v); }},
      {"copies",
       "of each part of the model among the servers: all but one of them may be lost",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.ps.copies); },
       [](Recipe& r, std::string_view v) { r.ps.copies = count("--copies", v); }},
      {"push-every",
       "steps after which a worker pushes the sum of its gradients to the servers",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.ps.push_every); },
       [](Recipe& r, std::string_view v) { r.ps.push_every = count("--push-every", v); }},
      {"push", "gradients, or of fully connected layers the factors that they are made of",
       words(kPushFormNames.all()),
       [](const Recipe& r) { return std::string(kPushFormNames.of(r.ps.push)); },
       [](Recipe& r, std::string_view v) {
         r.ps.push = choice<PushForm>("--push", kPushFormNames.all(), v);
       }},
      {"fetch",
       "when a worker reads from the servers: every so many steps; stale: when the bound asks for "
       "it; eager: also when the slowest has advanced",
       {"1", "4", "stale", "eager"},
       [](const Recipe& r) { return to_string(r.ps.fetch); },
       [](Recipe& r, std::string_view v) { r.ps.fetch = parse_fetch(v); }},
      {"groups",
       "of workers that push and read as one: those of a host, or so many nodes in a row; off: "
       "each for itself",
       {"off", "host", "4"},
       [](const Recipe& r) { return to_string(r.ps.groups); },
       [](Recipe& r, std::string_view v) { r.ps.groups = parse_groups(v); }},
      {"write-back",
       "steps that each member of a group makes, at what its leader has, before that one pushes; "
       "1: "
       "all are in step",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.ps.write_back); },
       [](Recipe& r, std::string_view v) { r.ps.write_back = count("--write-back", v); }},
      {"warm-start",
       "updates at the beginning that one worker makes alone",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.ps.warm_start); },
       [](Recipe& r, std::string_view v) { r.ps.warm_start = count("--warm-start", v); }},
      {"compensate",
       "late pushes by what the gradient would be now: lambda, adaptive:lambda; 0: not",
       {"0", "0.04", "adaptive:2"},
       [](const Recipe& r) { return to_string(r.ps.compensation); },
       [](Recipe& r, std::string_view v) { r.ps.compensation = parse_compensation(v); }},
      {"lower-momentum", "by 1 - 1/P, which P workers bring by being late", words(kSwitch),
       [](const Recipe& r) { return std::string(r.ps.lower_momentum ? "yes" : "no"); },
       [](Recipe& r, std::string_view v) {
         r.ps.lower_momentum = choice<int>("--lower-momentum", kSwitch, v) == 0;
       }},
      {"weigh", "pushes to servers: all alike; one that is d - 1 updates late by 1/d; all by 1/P",
       words(kWeighNames.all()),
       [](const Recipe& r) { return name(kWeighNames.all(), r.ps.weigh); },
       [](Recipe& r, std::string_view v) {
         r.ps.weigh = choice<Weigh>("--weigh", kWeighNames.all(), v);
       }},
      {"filter",
       "what a worker pushes at once, while the rest waits: significant:V, what changes its "
       "parameter by more than V / sqrt(t) of it; magnitude:RATE or fifo:RATE, as much as so many "
       "bytes a second allow, the largest changes first or all in turn",
       {"none", "significant:0.01", "magnitude:1000000", "fifo:1000000:5000"},
       [](const Recipe& r) { return to_string(r.ps.filter); },
       [](Recipe& r, std::string_view v) { r.ps.filter = parse_filter(v); }},
      {"compress", "pushes to servers, without loss", words(kSwitch),
       [](const Recipe& r) { return std::string(r.ps.compress ? "yes" : "no"); },
       [](Recipe& r, std::string_view v) {
         r.ps.compress = choice<int>("--compress", kSwitch, v) == 0;
       }},
      {"barrier", "a read waits for the pushes that were announced before it", words(kSwitch),
       [](const Recipe& r) { return std::string(r.ps.barrier ? "yes" : "no"); },
       [](Recipe& r, std::string_view v) {
         r.ps.barrier = choice<int>("--barrier", kSwitch, v) == 0;
       }},
      {"algorithm", "how models that are trained apart are combined", algorithms(),
       [](const Recipe& r) { return std::string(to_string(r.peering.algorithm)); },
       [](Recipe& r, std::string_view v) { r.peering.algorithm = parse_algorithm(v); }},
      {"local-steps",
       "steps of a worker between two meetings of its model with others",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.peering.tau); },
       [](Recipe& r, std::string_view v) { r.peering.tau = count("--local-steps", v); }},
      {"overlap-steps",
       "steps that a worker makes while its model meets others",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.peering.overlap_steps); },
       [](Recipe& r, std::string_view v) {
         r.peering.overlap_steps = count("--overlap-steps", v);
       }},
      {"pace", "of workers with models of their own: all in step, or each its own", words(kPaces),
       [](const Recipe& r) { return name(kPaces, r.peering.in_step ? 0 : 1); },
       [](Recipe& r, std::string_view v) {
         r.peering.in_step = choice<int>("--pace", kPaces, v) == 0;
       }},
      {"topology", "which models can meet", values_of<Topology>(),
       [](const Recipe& r) { return to_string(r.peering.topology); },
       [](Recipe& r, std::string_view v) { r.peering.topology = parse_topology(v); }},
      {"alpha",
       "part of its way to the center that a model moves; auto: 0.9/P",
       {},
       [](const Recipe& r) { return rate(r.peering.alpha); },
       [](Recipe& r, std::string_view v) { r.peering.alpha = parse_rate("--alpha", v); }},
      {"center-rate",
       "part of its way to a model that the center moves; auto: as --alpha",
       {},
       [](const Recipe& r) { return rate(r.peering.beta); },
       [](Recipe& r, std::string_view v) { r.peering.beta = parse_rate("--center-rate", v); }},
      {"block-momentum",
       "of the optimizer above the models' mean; auto: 1 - 1/P",
       {},
       [](const Recipe& r) { return rate(r.peering.block_momentum); },
       [](Recipe& r, std::string_view v) {
         r.peering.block_momentum = parse_rate("--block-momentum", v);
       }},
      {"block-rate",
       "step size of that optimizer",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.peering.block_rate); },
       [](Recipe& r, std::string_view v) {
         r.peering.block_rate = number<double>("--block-rate", v, "a number");
       }},
      {"block-nesterov", "that optimizer looks ahead", words(kSwitch),
       [](const Recipe& r) { return std::string(r.peering.block_nesterov ? "yes" : "no"); },
       [](Recipe& r, std::string_view v) {
         r.peering.block_nesterov = choice<int>("--block-nesterov", kSwitch, v) == 0;
       }},
      {"gossip",
       "chance that a worker sends its model to another after a step",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.peering.gossip); },
       [](Recipe& r, std::string_view v) {
         r.peering.gossip = number<double>("--gossip", v, "a number");
       }},
      {"adapt-alpha", "it grows while a worker's loss does not fall, and shrinks while it does",
       words(kSwitch),
       [](const Recipe& r) { return std::string(r.peering.adapt_alpha ? "yes" : "no"); },
       [](Recipe& r, std::string_view v) {
         r.peering.adapt_alpha = choice<int>("--adapt-alpha", kSwitch, v) == 0;
       }},
      {"local-steps-down",
       "steps between two models that go down a tree; 0: as --local-steps, which is for the way up",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.peering.tau_down); },
       [](Recipe& r, std::string_view v) { r.peering.tau_down = count("--local-steps-down", v); }},
      {"learners",
       "models that a worker trains around its center, 0: as many as its throughput asks for; with "
       "--algorithm hogwild its threads",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.peering.learners); },
       [](Recipe& r, std::string_view v) { r.peering.learners = count("--learners", v); }},
      {"combine", "predictions of all models, where they never meet; none: the mean of the models",
       words(kCombines),
       [](const Recipe& r) {
         return std::string(kCombines[static_cast<std::size_t>(r.peering.combine)]);
       },
       [](Recipe& r, std::string_view v) {
         r.peering.combine = choice<Combine>("--combine", kCombines, v);
       }},
      {"bagging", "each worker draws its samples with replacement", words(kSwitch),
       [](const Recipe& r) { return std::string(r.peering.bagging ? "yes" : "no"); },
       [](Recipe& r, std::string_view v) {
         r.peering.bagging = choice<int>("--bagging", kSwitch, v) == 0;
       }},
      {"penalty",
       "of the distance to the last known mean of all models, in the cost",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.peering.penalty); },
       [](Recipe& r, std::string_view v) {
         r.peering.penalty = number<double>("--penalty", v, "a number");
       }},
      {"extrapolate",
       "by how much of its last way the mean of all models is thought to have gone on",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.peering.extrapolate); },
       [](Recipe& r, std::string_view v) {
         r.peering.extrapolate = number<double>("--extrapolate", v, "a number");
       }},
      {"partitions",
       "of a gradient, of which each other worker gets one a step; 0: one for each of them",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.peering.partitions); },
       [](Recipe& r, std::string_view v) { r.peering.partitions = count("--partitions", v); }},
      {"drop-probability",
       "chance that a gradient is lost on its way to another worker",
       {},
       [](const Recipe& r) { return fmt::format("{}", r.peering.drop_probability); },
       [](Recipe& r, std::string_view v) {
         r.peering.drop_probability = number<double>("--drop-probability", v, "a number");
       }},
      {"mix-rate",
       "part of its way to its neighbours' that a model moves, where models are sent encoded; "
       "auto: "
       "by the encoding",
       {},
       [](const Recipe& r) { return rate(r.peering.mix_rate); },
       [](Recipe& r, std::string_view v) { r.peering.mix_rate = parse_rate("--mix-rate", v); }},
  }};
}

}  // namespace

std::span<const Axis> axes() {
  static const std::array<Axis, kAxes> kAll = make_axes();
  return kAll;
}

std::vector<std::pair<std::string, std::string>> axes_of(const Recipe& recipe) {
  const bool each = recipe.updater == Updater::Decentral;
  const bool sync =
      each ? recipe.peering.in_step
           : recipe.updater != Updater::Servers || goes_by_steps(recipe.ps.consistency);
  std::vector<std::pair<std::string, std::string>> all = {
      {"parallelism", "data"},
      {"optimization", each ? "decentral" : "central"},
      {"schedule", sync                                              ? "sync"
                   : !each && staleness_bound(recipe.ps.consistency) ? "bounded"
                                                                     : "async"},
      {"encoding", encode_text(recipe.encode)}};
  for (const Axis& axis : axes()) all.emplace_back(axis.name, axis.get(recipe));
  return all;
}

std::string flag_of(const Axis& axis, std::string_view value) {
  if (!axis.is_switch()) return fmt::format("--{} {}", axis.name, value);
  return fmt::format("--{}{}", value == "yes" ? "" : "no-", axis.name);
}

std::string flags_between(const Recipe& from, const Recipe& to) {
  std::string flags;
  for (const Axis& axis : axes()) {
    const std::string value = axis.get(to);
    if (axis.get(from) == value) continue;
    flags += (flags.empty() ? "" : " ") + flag_of(axis, value);
  }
  return flags;
}

}  // namespace shoal
