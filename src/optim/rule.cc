#include "optim/rule.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "base/error.h"

namespace shoal {

namespace {

bool is_adam(RuleKind kind) {
  return kind == RuleKind::Adam || kind == RuleKind::AdamW || kind == RuleKind::Lamb;
}

bool has_momentum(RuleKind kind) {
  return kind == RuleKind::Momentum || kind == RuleKind::Nesterov || kind == RuleKind::Lars ||
         kind == RuleKind::Rmsprop;
}

bool has_epsilon(RuleKind kind) {
  return is_adam(kind) || kind == RuleKind::Adagrad || kind == RuleKind::Rmsprop;
}

constexpr auto kRuleNames = names<RuleKind>({{RuleKind::Sgd, "sgd"},
                                             {RuleKind::Momentum, "momentum"},
                                             {RuleKind::Nesterov, "nesterov"},
                                             {RuleKind::Adagrad, "adagrad"},
                                             {RuleKind::Rmsprop, "rmsprop"},
                                             {RuleKind::Adam, "adam"},
                                             {RuleKind::AdamW, "adamw"},
                                             {RuleKind::Lars, "lars"},
                                             {RuleKind::Lamb, "lamb"}});
static_assert(kRuleNames.size() == kRuleKinds);

void require(bool allowed, const Rule& rule, std::string_view what, double value,
             std::string_view range) {
  if (allowed) return;
  throw ConfigError(
      fmt::format("{} of {} is {}; it must be {}", what, to_string(rule.kind), value, range));
}

}  // namespace

std::string_view to_string(RuleKind kind) { return kRuleNames.of(kind); }

std::string name_of(const Rule& rule) {
  return rule.own != nullptr ? rule.own->name : std::string(to_string(rule.kind));
}

Rule own_rule(UpdateRule own) {
  constexpr unsigned kSlotsMax = 2;
  if (!own.apply)
    throw ConfigError(
        fmt::format("the update rule {} has no function; give one as apply", own.name));
  if (own.slots > kSlotsMax)
    throw ConfigError(fmt::format("the update rule {} has {} slots; at most {} are allowed",
                                  own.name, own.slots, kSlotsMax));
  Rule rule;
  rule.own = std::make_shared<const UpdateRule>(std::move(own));
  return rule;
}

Rule default_rule(RuleKind kind) {
  Rule rule;
  rule.kind = kind;
  switch (kind) {
    case RuleKind::Momentum:
    case RuleKind::Nesterov: rule.momentum = 0.9; break;
    case RuleKind::Adagrad: rule.epsilon = 1e-10; break;
    case RuleKind::AdamW: rule.weight_decay = 0.01; break;
    case RuleKind::Lars:
      rule.momentum = 0.9;
      rule.weight_decay = 0.0005;
      break;
    case RuleKind::Lamb:
      rule.epsilon = 1e-6;
      rule.weight_decay = 0.01;
      break;
    case RuleKind::Sgd:
    case RuleKind::Rmsprop:
    case RuleKind::Adam: break;
  }
  return rule;
}

Rule parse_rule(std::string_view name) {
  return default_rule(kRuleNames.parse("--optimizer", name));
}

void require_valid(const Rule& rule) {
  const auto share = [](double x) { return x >= 0 && x < 1; };
  const auto amount = [](double x) { return x >= 0 && std::isfinite(x); };
  require(share(rule.momentum), rule, "the momentum", rule.momentum, "in [0, 1)");
  require(share(rule.alpha), rule, "alpha", rule.alpha, "in [0, 1)");
  require(share(rule.beta1), rule, "beta1", rule.beta1, "in [0, 1)");
  require(share(rule.beta2), rule, "beta2", rule.beta2, "in [0, 1)");
  require(amount(rule.epsilon), rule, "epsilon", rule.epsilon, "0 or more, 1e-8 is usual");
  require(amount(rule.trust) && rule.trust > 0, rule, "the trust coefficient", rule.trust,
          "above 0, 0.001 is usual");
  require(amount(rule.weight_decay), rule, "the weight decay", rule.weight_decay,
          "0 or more, 0.0001 is usual");
  require(amount(rule.clip_norm), rule, "the norm to clip at", rule.clip_norm,
          "above 0, or 0 for no clipping");
}

std::string describe(const Rule& rule) {
  std::string text = name_of(rule);
  const auto say = [&](std::string_view what, double value) {
    text += fmt::format(", {} {}", what, value);
  };
  if (has_momentum(rule.kind) && (rule.momentum > 0 || rule.kind != RuleKind::Rmsprop))
    say("momentum", rule.momentum);
  if (rule.kind == RuleKind::Rmsprop) say("alpha", rule.alpha);
  if (is_adam(rule.kind)) {
    say("beta1", rule.beta1);
    say("beta2", rule.beta2);
  }
  if (has_epsilon(rule.kind)) say("epsilon", rule.epsilon);
  if (rule.kind == RuleKind::Lars) say("trust", rule.trust);
  if (rule.weight_decay > 0) say("weight decay", rule.weight_decay);
  if (rule.clip_norm > 0) say("clipped at norm", rule.clip_norm);
  return text;
}

unsigned slots(const Rule& rule) {
  if (rule.own != nullptr) return rule.own->slots;
  switch (rule.kind) {
    case RuleKind::Sgd: return 0;
    case RuleKind::Momentum:
    case RuleKind::Nesterov:
    case RuleKind::Adagrad:
    case RuleKind::Lars: return 1;
    case RuleKind::Rmsprop: return rule.momentum > 0 ? 2 : 1;
    case RuleKind::Adam:
    case RuleKind::AdamW:
    case RuleKind::Lamb: return 2;
  }
  return 0;
}

}  // namespace shoal
