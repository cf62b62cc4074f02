// Served: the recipe of training through parameter servers. A setting is a field and its row in
// parameters(), here or of ParameterServerOptions.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/choice.h"
#include "encoded/encode.h"
#include "encoded/encode_settings.h"
#include "learner/normalization.h"
#include "ps/options.h"
#include "replica/training_task.h"

namespace shoal {

// `order`: the order in which changes are pushed, which their filter chooses by another name.
Setting push_order_setting(Filter& filter);

struct Served {
  static constexpr std::string_view kName = "servers";
  ParameterServerOptions ps{};
  // Above 0: an update is the sum of this number of logical shards, in a fixed order. Only in
  // synchronous training.
  std::uint32_t shards = 0;
  BatchNorm batch_norm{};
  Encode encode{};  // pushed gradients

  static constexpr auto parameters() {
    return std::tuple{
        Rows<Served>{[](Served& r) { return settings_of(r.ps); }},
        Rows<Served>{[](Served& r) { return std::vector{push_order_setting(r.ps.filter)}; }},
        Parameter{"shards", &Served::shards,
                  "logical shards, summed in a fixed order: the same bits for any number of "
                  "workers; 0: none"},
        Rows<Served>{[](Served& r) {
          return std::vector{
              form_setting(
                  "batch-norm", r.batch_norm, parse_batch_norm, {"local", "group:32"},
                  "samples of a statistic: local, the worker's batch; group:K, K of its samples"),
              encode_setting(r.encode, "encoding of pushed gradients"),
              encode_after_setting(r.encode)};
        }}};
  }
  bool operator==(const Served&) const = default;
};

// Servers, each with a part of the parameters, when none is missing.
std::uint64_t servers_of(const Served& recipe, std::uint64_t workers);
// Samples of an update, when nobody is missing, and all are equally fast.
std::uint64_t samples_per_update(const Served& recipe, const TrainingTask& task);
EpochCount length_of(const Served& recipe, const TrainingTask& task);

}  // namespace shoal
