// ParameterServerOptions: how workers use parameter servers, one field for each setting. The
// systems of the literature that have servers differ in these.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "base/choice.h"
#include "base/names.h"
#include "codec/encoding.h"
#include "ps/consistency.h"
#include "ps/filter.h"
#include "ps/groups.h"

namespace shoal {

// When a worker reads the parameters. Between two reads it applies its own updates by plain SGD.
namespace fetch {

struct Every {
  static constexpr std::string_view kName = "";
  static constexpr std::string_view kHelp = "every N steps";
  std::uint32_t steps = 1;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"steps", &Every::steps, "steps between two reads", {.least = 1}}};
  }
  bool operator==(const Every&) const = default;
};

struct Stale {
  static constexpr std::string_view kName = "stale";
  static constexpr std::string_view kHelp = "when the parameters are too old for the bound";
  bool operator==(const Stale&) const = default;
};

struct Eager {
  static constexpr std::string_view kName = "eager";
  static constexpr std::string_view kHelp =
      "as stale, and servers send parameters whenever the slowest worker has advanced";
  bool operator==(const Eager&) const = default;
};

}  // namespace fetch

using Fetch = std::variant<fetch::Every, fetch::Stale, fetch::Eager>;
Fetch parse_fetch(std::string_view text);  // "4", "stale", "eager"; throws ConfigError
std::string to_string(const Fetch& fetch);
// Whether the bound of the consistency decides.
inline bool reads_when_stale(const Fetch& f) { return !std::holds_alternative<fetch::Every>(f); }
// Steps between two reads; 1 where the bound decides.
std::uint32_t steps_of(const Fetch& fetch);

// An estimate of a late gradient at the current parameters: g + lambda g g (w now - w then), by
// element. Zheng et al. 2017 (DC-ASGD).
namespace compensation {

struct Constant {
  static constexpr std::string_view kName = "";
  static constexpr std::string_view kHelp = "by a constant lambda; 0: no correction";
  double lambda = 0;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"lambda", &Constant::lambda, "factor"}};
  }
  bool operator==(const Constant&) const = default;
};

struct Adaptive {
  static constexpr std::string_view kName = "adaptive";
  static constexpr std::string_view kHelp = "by lambda / sqrt(mean square of g)";
  double lambda = 2;
  static constexpr auto parameters() {
    return std::tuple{
        Parameter{"lambda", &Adaptive::lambda, "factor", {.above_least = true}, Print::Required}};
  }
  bool operator==(const Adaptive&) const = default;
};

}  // namespace compensation

using Compensation = std::variant<compensation::Constant, compensation::Adaptive>;
Compensation parse_compensation(std::string_view text);  // "0", "0.04", "adaptive:2"
std::string to_string(const Compensation& compensation);
double lambda_of(const Compensation& compensation);
inline bool compensates(const Compensation& c) { return lambda_of(c) > 0; }

// The weight of a push. Jiang et al. 2017.
enum class Weigh : std::uint8_t {
  Even,
  Staleness,  // 1/d, if it is d - 1 updates late
  Workers,    // 1/P
};
inline constexpr auto kWeighNames = names<Weigh>(
    {{Weigh::Even, "even"}, {Weigh::Staleness, "staleness"}, {Weigh::Workers, "workers"}});
static_assert(kWeighNames.size() == count_up_to(Weigh::Workers));
constexpr const auto& enum_names(Weigh) { return kWeighNames; }

// The form of pushes for fully connected layers; other layers push gradients.
enum class PushForm : std::uint8_t { Gradients, Factors };
inline constexpr auto kPushFormNames =
    names<PushForm>({{PushForm::Gradients, "gradients"}, {PushForm::Factors, "factors"}});
static_assert(kPushFormNames.size() == count_up_to(PushForm::Factors));
constexpr const auto& enum_names(PushForm) { return kPushFormNames; }

void read_value(std::string_view text, Encoding& value);
std::vector<std::string> some_forms(const Encoding& value);  // those for models

struct ParameterServerOptions {
  Consistency consistency{};
  std::uint32_t servers = 0;
  std::uint32_t copies = 1;
  std::uint32_t push_every = 1;
  PushForm push = PushForm::Gradients;
  Fetch fetch{};
  Groups groups{};
  std::uint32_t write_back = 1;
  std::uint64_t warm_start = 0;
  Weigh weigh = Weigh::Even;
  Compensation compensation{};
  bool lower_momentum = false;
  Filter filter{};
  bool compress = false;  // ps/pushed_part.h
  bool barrier = false;
  Encoding pulls{};

  // Each with the name of its flag.
  static constexpr auto parameters() {
    using Options = ParameterServerOptions;
    constexpr Limits kFromOne{.least = 1};
    return std::tuple{
        Parameter{"consistency", &Options::consistency,
                  "when a worker may read from the servers, and which pushes form an update"},
        Parameter{"servers", &Options::servers,
                  "number of separate server processes; 0: a server inside each worker"},
        Parameter{"copies", &Options::copies, "copies of each shard; all but one may be lost",
                  kFromOne},
        Parameter{"push-every", &Options::push_every,
                  "steps whose gradients a worker sums for one push", kFromOne},
        Parameter{"push", &Options::push,
                  "what workers push: gradients, or factors for fully connected layers"},
        Parameter{"fetch", &Options::fetch,
                  "steps between two reads; stale: when the bound requires it; eager: also when "
                  "the slowest worker has advanced"},
        Parameter{"groups", &Options::groups,
                  "workers that push and read as one: those of a host, or N consecutive nodes; "
                  "off: no groups"},
        Parameter{"write-back", &Options::write_back,
                  "steps of a group's members, on the parameters of their leader, for each push of "
                  "the leader",
                  kFromOne},
        Parameter{"warm-start", &Options::warm_start,
                  "first updates, which one worker makes alone"},
        Parameter{"weigh", &Options::weigh,
                  "weight of a push: even, 1; staleness, 1/d if it is d - 1 updates late; workers, "
                  "1/P"},
        Parameter{"compensate", &Options::compensation,
                  "first-order correction of late gradients, by a factor lambda; adaptive: by "
                  "lambda / sqrt(mean square of the gradient); 0: none"},
        Parameter{"lower-momentum", &Options::lower_momentum,
                  "reduce the momentum by 1 - 1/P, the amount that the delays of P workers add"},
        Parameter{"filter", &Options::filter,
                  "elements that a worker pushes now, while the others wait: significant:V, "
                  "relative changes above V / sqrt(t); magnitude:RATE or fifo:RATE, as many as "
                  "RATE bytes a second allow, the largest changes first or in turn"},
        Parameter{"compress", &Options::compress, "lossless compression of pushes"},
        Parameter{"barrier", &Options::barrier,
                  "a read waits for pushes that were announced before it"},
        Parameter{"encode-pulls", &Options::pulls, "encoding of the parameters that servers send"}};
  }
  bool operator==(const ParameterServerOptions&) const = default;
};

// Whether pushes are parts (ps/pushed_part.h), even if everything is in them.
inline bool in_parts(const ParameterServerOptions& ps) {
  return holds_back(ps.filter) || ps.compress;
}

// If all workers are present and equally fast.
std::uint64_t samples_per_update(const ParameterServerOptions& ps, std::uint64_t batch,
                                 std::uint64_t workers, std::uint64_t hosts);

}  // namespace shoal
