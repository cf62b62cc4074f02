// Decentral: the recipe of training in which each worker has its own model and optimizer. A setting
// is a field and its row in parameters(). An algorithm is an alternative of `AlgorithmChoice`, with
// settings in its own header.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/choice.h"
#include "collective/exchange.h"
#include "decentral/average.h"
#include "decentral/block.h"
#include "decentral/elastic.h"
#include "decentral/gossip.h"
#include "decentral/hogwild.h"
#include "decentral/independent.h"
#include "decentral/learners.h"
#include "decentral/master.h"
#include "decentral/neighbours.h"
#include "decentral/pairs.h"
#include "decentral/parts.h"
#include "decentral/scatter.h"
#include "decentral/stream.h"
#include "decentral/tree.h"
#include "encoded/encode.h"
#include "encoded/encode_settings.h"
#include "learner/normalization.h"

namespace shoal {

using AlgorithmChoice =
    std::variant<AverageSettings, BlockSettings, ElasticSettings, NeighboursSettings, PairsSettings,
                 GossipSettings, IndependentSettings, ScatterSettings, TreeSettings,
                 LearnersSettings, MasterSettings, PartsSettings, StreamSettings, HogwildSettings>;

struct Decentral {
  static constexpr std::string_view kName = "decentral";
  AlgorithmChoice algorithm{};
  Exchange exchange = Exchange::Direct;  // of sums over all models
  BatchNorm batch_norm{};
  Encode encode{};  // differences of models, or gradients

  static constexpr auto parameters() {
    return std::tuple{
        Rows<Decentral>{[](Decentral& r) {
          return choice_settings("algorithm", r.algorithm,
                                 "algorithm that combines models which workers train apart");
        }},
        Rows<Decentral>{[](Decentral& r) {
          // All but `auto`, whose costs are known for gradients alone.
          return std::vector{
              form_setting("exchange", r.exchange, parse_exchange, exchange_names(Exchange::Ring),
                           "algorithm that sums models"),
              form_setting(
                  "batch-norm", r.batch_norm, parse_batch_norm, {"local", "group:32"},
                  "samples of a statistic: local, the worker's batch; group:K, K of its samples"),
              encode_setting(r.encode, "encoding of differences of models, or of gradients"),
              encoded_by_setting(r.encode)};
        }}};
  }
  bool operator==(const Decentral&) const = default;
};

// ---- Settings that several algorithms have

inline bool in_step(const AlgorithmChoice& choice) {
  return std::visit(
      [](const auto& settings) {
        if constexpr (requires { settings.pace; }) return settings.pace == WorkerPace::Sync;
        return true;
      },
      choice);
}
// Steps of a worker between two exchanges, and of these the steps while models are exchanged.
inline std::uint32_t local_steps(const AlgorithmChoice& choice) {
  return std::visit(
      [](const auto& settings) -> std::uint32_t {
        if constexpr (requires { settings.local_steps; }) return settings.local_steps;
        return 1;
      },
      choice);
}
inline std::uint32_t overlap_steps(const AlgorithmChoice& choice) {
  return std::visit(
      [](const auto& settings) -> std::uint32_t {
        if constexpr (requires { settings.overlap_steps; }) return settings.overlap_steps;
        return 0;
      },
      choice);
}
// Whether its messages can be encoded, and whether they are sums of models.
inline bool takes_encodings(const AlgorithmChoice& choice) {
  return std::visit(
      [](const auto& settings) {
        return requires { settings.kEncodes; };
      },
      choice);
}
inline bool sums_models(const AlgorithmChoice& choice) {
  return std::visit(
      [](const auto& settings) {
        return requires { settings.kSumsModels; };
      },
      choice);
}

// The combination of predictions; None: models are combined instead.
Combine combine_of(const AlgorithmChoice& choice);
bool draws_samples(const AlgorithmChoice& choice);

// ConfigError for settings that are impossible for this number of workers, with the flag, its value
// and the allowed range.
void require_valid(const AlgorithmChoice& choice, std::uint64_t workers);

}  // namespace shoal
