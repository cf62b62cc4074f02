// InStep: the recipe of training whose workers compute one step together. A setting is a field and
// its row in parameters().
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/choice.h"
#include "base/names.h"
#include "collective/exchange.h"
#include "encoded/encode.h"
#include "encoded/encode_settings.h"
#include "learner/normalization.h"

namespace shoal {

// Which workers apply the update, and so need the whole sum of the gradients.
enum class Updater : std::uint8_t {
  Everyone,  // all-reduce; each worker updates its own copy of everything
  Owners,    // reduce-scatter; each worker updates its part, and all copy the parts of the others
  Root,      // reduce to rank 0, which updates everything; all copy it from there
  Apart,     // no sum: each updates its own model, and all wait for each other in each step; to
             // measure the cost of an exchange
};
inline constexpr auto kUpdaterNames = names<Updater>({{Updater::Everyone, "everyone"},
                                                      {Updater::Owners, "owners"},
                                                      {Updater::Root, "root"},
                                                      {Updater::Apart, "apart"}});

// When the buckets of a gradient are sent.
enum class SendOrder : std::uint8_t {
  Fifo,      // all after the backward pass
  Wfbp,      // as backward produces them
  Priority,  // first layers first, in chunks; the next step begins meanwhile (priority_reduction.h)
};
inline constexpr auto kSendOrderNames = names<SendOrder>(
    {{SendOrder::Fifo, "fifo"}, {SendOrder::Wfbp, "wfbp"}, {SendOrder::Priority, "priority"}});
constexpr const auto& enum_names(SendOrder) { return kSendOrderNames; }

// Which gradients of a step count.
struct AllGradients {
  static constexpr std::string_view kName = "all";
  static constexpr std::string_view kHelp = "the gradients of all workers";
  bool operator==(const AllGradients&) const = default;
};
struct FirstGradients {
  static constexpr std::string_view kName = "first";
  static constexpr std::string_view kHelp =
      "the first gradients that arrive; later ones are dropped";
  std::uint32_t backups = 1;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"backups",
                                &FirstGradients::backups,
                                "number of gradients that a step does not wait for, and drops",
                                {1}}};
  }
  bool operator==(const FirstGradients&) const = default;
};
struct PartialGradients {
  static constexpr std::string_view kName = "fastest";
  static constexpr std::string_view kHelp =
      "when the first worker has finished its share, all send the sums that they have so far";
  bool operator==(const PartialGradients&) const = default;
};
struct RedundantGradients {
  static constexpr std::string_view kName = "redundant";
  static constexpr std::string_view kHelp =
      "two workers compute each share, and the first result counts";
  bool operator==(const RedundantGradients&) const = default;
};
using StragglerPolicy =
    std::variant<AllGradients, FirstGradients, PartialGradients, RedundantGradients>;

// The batch size that stays constant when workers come and go.
enum class KeepBatch : std::uint8_t { Global, Worker };
inline constexpr auto kKeepBatchNames =
    names<KeepBatch>({{KeepBatch::Global, "global"}, {KeepBatch::Worker, "worker"}});
constexpr const auto& enum_names(KeepBatch) { return kKeepBatchNames; }

// Shares of a batch.
enum class Balance : std::uint8_t { Even, Auto };
inline constexpr auto kBalanceNames =
    names<Balance>({{Balance::Even, "even"}, {Balance::Auto, "auto"}});
constexpr const auto& enum_names(Balance) { return kBalanceNames; }

struct InStep {
  Updater updater = Updater::Everyone;
  Exchange exchange = Exchange::Ring;
  SendOrder order = SendOrder::Wfbp;
  StragglerPolicy stragglers{};
  double epoch_fraction = 1;     // of the samples, after which an epoch ends
  std::uint32_t accumulate = 1;  // smaller passes per exchange
  Balance balance = Balance::Even;
  KeepBatch keep = KeepBatch::Global;
  // Above 0: the number of logical shards, whose gradients are summed in a fixed order, so that the
  // result does not depend on the number of workers.
  std::uint32_t shards = 0;
  BatchNorm batch_norm{};
  Encode encode{};

  // All but `update`, which also chooses between InStep and other kinds of training.
  static constexpr auto parameters() {
    constexpr Limits kPart{.least = 0, .most = 1, .above_least = true};
    return std::tuple{
        Rows<InStep>{[](InStep& r) {
          return std::vector{form_setting(
              "exchange", r.exchange, parse_exchange, exchange_names(),
              "algorithm that sums gradients, or models; auto: chosen by measured costs")};
        }},
        Parameter{
            "order", &InStep::order,
            "order of sending gradients: fifo, all after the backward pass; wfbp, as the backward "
            "pass produces them; priority, first layers first, overlapped with the next forward "
            "pass; magnitude, largest changes first (pushes to servers: --filter magnitude:RATE)"},
        Rows<InStep>{[](InStep& r) {
          return choice_settings("straggler-policy", r.stragglers,
                                 "which gradients of a step count");
        }},
        Parameter{"epoch-fraction", &InStep::epoch_fraction,
                  "fraction of the samples after which an epoch ends; the others are dropped",
                  kPart},
        Parameter{"accumulate", &InStep::accumulate, "number of smaller passes per exchange", {1}},
        Parameter{"balance", &InStep::balance, "shares of a batch: equal, or by measured speed"},
        Parameter{
            "keep-batch", &InStep::keep,
            "the batch size that stays constant when workers come and go: global, or per worker"},
        Parameter{"shards", &InStep::shards,
                  "logical shards, summed in a fixed order: the same bits for any number of "
                  "workers; 0: none"},
        Rows<InStep>{[](InStep& r) {
          return std::vector{
              form_setting("batch-norm", r.batch_norm, parse_batch_norm,
                           {"local", "group:32", "sync"},
                           "samples of a statistic: local, the worker's batch; group:K, K of its "
                           "samples; sync, the batches of all workers"),
              encode_setting(
                  r.encode,
                  "encoding of gradients, or of differences of models; +ef: error feedback; +zstd: "
                  "compressed; LAYER=.. after a comma: for some layers"),
              encoded_by_setting(r.encode), encode_after_setting(r.encode)};
        }}};
  }
  bool operator==(const InStep&) const = default;
};

template <class Policy>
bool waits_by(const InStep& recipe) {
  return std::holds_alternative<Policy>(recipe.stragglers);
}
inline bool waits_for_all(const InStep& recipe) { return waits_by<AllGradients>(recipe); }
// Workers whose gradients a step does not wait for.
inline std::uint32_t backups(const InStep& recipe) {
  const auto* const first = std::get_if<FirstGradients>(&recipe.stragglers);
  return first == nullptr ? 0 : first->backups;
}
// Buckets are sent during the backward pass.
inline bool overlaps(const InStep& recipe) { return recipe.order != SendOrder::Fifo; }

inline bool encodes(const InStep& recipe) { return encodes(recipe.encode); }

// Has settings that only the sharded update supports.
inline bool needs_owners(const InStep& recipe) {
  return recipe.shards > 0 || !waits_for_all(recipe);
}

}  // namespace shoal
