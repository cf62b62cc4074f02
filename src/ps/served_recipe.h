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
                  "logical shards summed in one fixed order: the same bits for any number of "
                  "workers; 0: none"},
        Rows<Served>{[](Served& r) {
          return std::vector{
              form_setting("batch-norm", r.batch_norm, parse_batch_norm, {"local", "group:32"},
                           "samples of the statistics: local, a worker's; group:K, "
                           "K of them"),
              encode_setting(r.encode, "how pushed gradients are sent"),
              encode_after_setting(r.encode)};
        }}};
  }
  bool operator==(const Served&) const = default;
};

}  // namespace shoal
