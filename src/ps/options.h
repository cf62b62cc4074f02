// ParameterServerOptions: how servers are used, with a setting a field. What a system of the
// literature that has servers differs in from another is here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "codec/encoding.h"
#include "ps/consistency.h"
#include "ps/filter.h"
#include "ps/groups.h"

namespace shoal {

// When a worker reads the parameters. In between it has its own updates, as plain SGD makes them.
struct Fetch {
  enum class Kind : std::uint8_t {
    Every,  // so many steps
    Stale,  // when what it has is too old for the bound
    Eager,  // as well; and servers send what they have when the slowest worker has advanced
  };
  Kind kind = Kind::Every;
  std::uint32_t steps = 1;

  bool operator==(const Fetch&) const = default;
};
Fetch parse_fetch(std::string_view text);  // "4", "stale", "eager"; throws ConfigError
std::string to_string(const Fetch& fetch);

// What a late gradient would have been: g + lambda g g (w now - w then), by element. Zheng et al.
// 2017 (DC-ASGD). Adaptive: lambda / sqrt(mean square of g) in its place.
struct Compensation {
  double lambda = 0;  // 0: it is taken as it is
  bool adaptive = false;

  bool operator==(const Compensation&) const = default;
};
Compensation parse_compensation(std::string_view text);  // "0", "0.04", "adaptive:2"
std::string to_string(const Compensation& compensation);

// How much a push counts. Jiang et al. 2017.
enum class Weigh : std::uint8_t {
  Even,
  Staleness,  // 1/d, of one that is d - 1 updates late
  Workers,    // 1/P
};

struct ParameterServerOptions {
  Consistency consistency{Consistency::Kind::Synchronous};
  std::uint32_t servers = 0;     // processes of their own; 0: each worker serves a part
  std::uint32_t copies = 1;      // of each part
  std::uint32_t push_every = 1;  // steps, whose gradients add up till then
  bool factors = false;          // of fully connected layers are pushed, and not their gradients
  Fetch fetch{};
  Groups groups{};               // that push and read as one worker
  std::uint32_t write_back = 1;  // steps of each member of a group till it does
  std::uint64_t warm_start = 0;  // updates that one worker makes alone, at the beginning
  Weigh weigh = Weigh::Even;
  Compensation compensation{};  // of late pushes
  bool lower_momentum = false;  // by 1 - 1/P, which P workers bring by being late
  Filter filter{};              // what of its gradients a worker pushes at once
  bool compress = false;        // pushes, without loss (ps/pushed_part.h)
  bool barrier = false;         // a read waits for the pushes that were announced before it
  Encoding pulls{};             // what parameters are on their way to workers

  bool operator==(const ParameterServerOptions&) const = default;
};

// Whether pushes are parts (ps/pushed_part.h), also if all of it is in them.
inline bool in_parts(const ParameterServerOptions& ps) {
  return ps.filter.kind != Filter::Kind::None || ps.compress;
}

// When nobody is missing, and all are equally fast.
std::uint64_t samples_per_update(const ParameterServerOptions& ps, std::uint64_t batch,
                                 std::uint64_t workers, std::uint64_t hosts);

}  // namespace shoal
