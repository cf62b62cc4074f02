// Recipe: how a training job is distributed over its workers: one kind of training with the
// settings of that kind, as a plain value. A system of the literature is a recipe with a name
// (registry.h).
//
//   InStep     workers compute one step together           sync/in_step.h
//   Served     through parameter servers                   ps/served_recipe.h
//   Decentral  each worker has its own model               decentral/options.h
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "base/choice.h"
#include "decentral/options.h"
#include "ps/served_recipe.h"
#include "sync/in_step.h"

namespace shoal {

using Recipe = std::variant<InStep, Served, Decentral>;

// First `update`, which chooses the kind, and for InStep also the updater; then the settings of the
// kind. A change of the kind keeps the values of settings that both kinds have.
std::vector<Setting> settings_of(Recipe& recipe);

template <class Kind>
bool is(const Recipe& recipe) {
  return std::holds_alternative<Kind>(recipe);
}

// Settings that every kind has.
inline const BatchNorm& batch_norm_of(const Recipe& recipe) {
  return std::visit([](const auto& kind) -> const BatchNorm& { return kind.batch_norm; }, recipe);
}
inline const Encode& encode_of(const Recipe& recipe) {
  return std::visit([](const auto& kind) -> const Encode& { return kind.encode; }, recipe);
}
inline Encode& encode_of(Recipe& recipe) {
  return std::visit([](auto& kind) -> Encode& { return kind.encode; }, recipe);
}

// Whether workers wait for each other: "sync", "bounded" or "async".
std::string_view schedule_of(const Recipe& recipe);

// When workers come and go, the batch per worker stays constant, not the global batch.
bool keeps_worker_batches(const Recipe& recipe);

// The number of separate server processes.
inline std::uint32_t servers_of(const Recipe& recipe) {
  const auto* const served = std::get_if<Served>(&recipe);
  return served == nullptr ? 0 : served->ps.servers;
}
// The number of logical shards, which are summed in a fixed order; 0: none.
std::uint32_t shards_of(const Recipe& recipe);

// Whether the learner must provide factors of fully connected layers.
bool takes_factors(const Recipe& recipe);

// Each worker has its own batches, and gradients are not exchanged in buckets.
inline bool by_worker(const Recipe& recipe) { return !is<InStep>(recipe); }

}  // namespace shoal
