// Rule: which optimizer, and with which constants. A plain value; update.h applies it.
//
// The formulas, the places of epsilon and the defaults are those of libtorch 1.13, so that a run
// can be compared with one of torch::optim; those of LARS and LAMB are their papers'. Each family's
// file has its formulas, their source and their cost.
//
//   kind       w moves along              state                file
//   sgd        g                          -                    sgd.cc
//   momentum   v, sum of past g           v                    sgd.cc
//   nesterov   g + mu v                   v                    sgd.cc
//   adagrad    g / sqrt(sum of g^2)       s                    adaptive.cc
//   rmsprop    g / sqrt(mean of g^2)      s, v with momentum   adaptive.cc
//   adam       m / sqrt(v)                m, v                 adam.cc
//   adamw      adam, decays w itself      m, v                 adam.cc
//   lars       v, scaled by tensor        v                    lars.cc
//   lamb       adam, scaled by tensor     m, v                 lamb.cc
// Or one of the user's own (own.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/names.h"
#include "shoal/update.h"

namespace shoal {

enum class RuleKind : std::uint8_t {
  Sgd,
  Momentum,
  Nesterov,
  Adagrad,
  Rmsprop,
  Adam,
  AdamW,
  Lars,
  Lamb
};
inline constexpr std::size_t kRuleKinds = count_up_to(RuleKind::Lamb);
std::string_view to_string(RuleKind kind);  // as parse_rule reads it

// Constants that a kind does not use are left alone. The step size is not here: it changes from
// step to step (schedule.h).
struct Rule {
  RuleKind kind = RuleKind::Sgd;
  double momentum = 0;      // mu; momentum, nesterov, lars: 0.9
  double alpha = 0.99;      // rmsprop: how much of the mean square stays
  double beta1 = 0.9;       // adam, adamw, lamb: how much of m stays
  double beta2 = 0.999;     // and of v
  double epsilon = 1e-8;    // adagrad: 1e-10; lamb: 1e-6
  double trust = 0.001;     // lars: the part of |w| that a step may move it
  double weight_decay = 0;  // adamw, lamb: 0.01; lars: 0.0005
  double clip_norm = 0;     // a longer mean gradient is shortened to this; 0: none is
  // The user's own, in place of the kind and its constants; null: there is none.
  std::shared_ptr<const UpdateRule> own{};
};

// As records and checkpoints have it: the kind, or the name of the user's own.
std::string name_of(const Rule& rule);
// One of the user's own. ConfigError for one that cannot be.
Rule own_rule(UpdateRule rule);
// The kind with its defaults.
Rule default_rule(RuleKind kind);
// "adamw" with its defaults. An unknown name is a ConfigError that suggests the nearest.
Rule parse_rule(std::string_view name);
// ConfigError for a constant that no training can mean: which, its value, what is allowed.
void require_valid(const Rule& rule);
// The kind and the constants it uses: "adamw, beta1 0.9, beta2 0.999, epsilon 1e-08, ...".
std::string describe(const Rule& rule);
// How many numbers of state a parameter has; all begin as zero.
unsigned slots(const Rule& rule);

}  // namespace shoal
