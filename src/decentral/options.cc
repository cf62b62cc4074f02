#include "decentral/options.h"

#include "base/setting_list.h"
#include "encoded/encode_settings.h"

namespace shoal {
namespace {

// All but `auto`, whose costs are known for gradients alone.
std::vector<std::string> sums_of_models() {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < kExchanges; ++i)
    names.emplace_back(to_string(static_cast<Exchange>(i)));
  return names;
}

}  // namespace

std::vector<Setting> settings_of(Decentral& r) {
  SettingList list;
  list.choice("algorithm", r.algorithm, "algorithm that combines models which workers train apart");
  list.form("exchange", r.exchange, parse_exchange, sums_of_models(), "algorithm that sums models");
  list.form("batch-norm", r.batch_norm, parse_batch_norm, {"local", "group:32"},
            "samples of a statistic: local, the worker's batch; group:K, K of its samples");
  list.add(encode_setting(r.encode, "encoding of differences of models, or of gradients"));
  list.add(encoded_by_setting(r.encode));
  return list.take();
}

Combine combine_of(const AlgorithmChoice& choice) {
  const auto* const independent = std::get_if<IndependentSettings>(&choice);
  return independent == nullptr ? Combine::None : independent->combine;
}

bool draws_samples(const AlgorithmChoice& choice) {
  const auto* const independent = std::get_if<IndependentSettings>(&choice);
  return independent != nullptr && independent->bagging;
}

void require_valid(const AlgorithmChoice& choice, std::uint64_t workers) {
  std::visit(
      [&](const auto& settings) {
        if constexpr (requires { settings.topology; }) require_possible(settings.topology, workers);
        if constexpr (requires { require_possible(settings, workers); })
          require_possible(settings, workers);
      },
      choice);
}

}  // namespace shoal
