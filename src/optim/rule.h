// Rule: an optimizer with its constants. A plain value; update.h applies it.
//
// Formulas, the places of epsilon and defaults are those of libtorch 1.13, so that runs can be
// compared with torch::optim; those of LARS and LAMB are their papers'. Each family's file has its
// formulas, source and cost.
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
//
// Or a rule of the user (own.cc).
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

// Constants that a kind does not use are ignored. The learning rate is not here, because it changes
// from step to step (schedule.h).
struct Rule {
  RuleKind kind = RuleKind::Sgd;
  double momentum = 0;      // mu; momentum, nesterov, lars: 0.9
  double alpha = 0.99;      // rmsprop: decay of the mean square
  double beta1 = 0.9;       // adam, adamw, lamb: decay of m
  double beta2 = 0.999;     // and of v
  double epsilon = 1e-8;    // adagrad: 1e-10; lamb: 1e-6
  double trust = 0.001;     // lars: the fraction of |w| that a step may change
  double weight_decay = 0;  // adamw, lamb: 0.01; lars: 0.0005
  double clip_norm = 0;     // maximum norm of the mean gradient; 0: no clipping
  // The user's rule, instead of the kind and its constants; null: none.
  std::shared_ptr<const UpdateRule> own{};
};

// The name in records and checkpoints: the kind, or that of the user's rule.
std::string name_of(const Rule& rule);
// Makes a rule of the user's. Throws ConfigError if it is invalid.
Rule own_rule(UpdateRule rule);
// The kind with its defaults.
Rule default_rule(RuleKind kind);
// Parses "adamw", with its defaults. For an unknown name, throws ConfigError, which suggests the
// nearest.
Rule parse_rule(std::string_view name);
// Throws ConfigError for an impossible constant, with its value and the allowed ones.
void require_valid(const Rule& rule);
// The kind and its constants: "adamw, beta1 0.9, beta2 0.999, epsilon 1e-08, ...".
std::string describe(const Rule& rule);
// Numbers of state per parameter, all initially zero.
unsigned slots(const Rule& rule);

}  // namespace shoal
