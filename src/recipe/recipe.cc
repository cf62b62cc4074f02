#include "recipe/recipe.h"

#include <optional>

#include "base/error.h"

namespace shoal {
namespace {

// InStep has a name for each updater, other kinds have one.
std::vector<std::string> updates() {
  std::vector<std::string> names(kUpdaterNames.all().begin(), kUpdaterNames.all().end());
  for_each_alternative<Recipe>([&](const auto& kind) {
    if constexpr (requires { kind.kName; }) names.emplace_back(kind.kName);
  });
  return names;
}

std::string update_of(const Recipe& recipe) {
  return std::visit(
      [](const auto& kind) {
        if constexpr (requires { kind.kName; })
          return std::string(kind.kName);
        else
          return std::string(kUpdaterNames.of(kind.updater));
      },
      recipe);
}

template <class Kind>
void become(Recipe& recipe, Kind kind) {
  if (is<Kind>(recipe)) return;
  const auto of_kind = [](auto& some) { return settings_of(some); };
  carry_over(std::visit(of_kind, recipe), settings_of(kind));
  recipe = std::move(kind);
}

void set_update(Recipe& recipe, std::string_view name) {
  if (const std::optional<Updater> updater = kUpdaterNames.find(name)) {
    become(recipe, InStep());
    std::get<InStep>(recipe).updater = *updater;
    return;
  }
  bool found = false;
  for_each_alternative<Recipe>([&](const auto& kind) {
    if constexpr (requires { kind.kName; }) {
      if (found || kind.kName != name) return;
      found = true;
      become(recipe, kind);
    }
  });
  if (!found) detail::refuse_name(name, updates());
}

}  // namespace

std::vector<Setting> settings_of(Recipe& recipe) {
  Setting update;
  update.name = "update";
  update.help =
      "where updates are applied: everyone, each worker all of it; owners, each worker its part; "
      "root; servers; decentral, each worker its own model; apart, all workers without any "
      "exchange, to measure its cost";
  update.choices = updates();
  update.decides = true;
  update.text = [&recipe] { return update_of(recipe); };
  update.set = [&recipe](std::string_view name) { set_update(recipe, name); };
  std::vector<Setting> all = {std::move(update)};
  for (Setting& setting : std::visit([](auto& kind) { return settings_of(kind); }, recipe))
    all.push_back(std::move(setting));
  return all;
}

std::string_view schedule_of(const Recipe& recipe) {
  if (const auto* const decentral = std::get_if<Decentral>(&recipe))
    return in_step(decentral->algorithm) ? "sync" : "async";
  const auto* const served = std::get_if<Served>(&recipe);
  if (served == nullptr || goes_by_steps(served->ps.consistency)) return "sync";
  return staleness_bound(served->ps.consistency) ? "bounded" : "async";
}

bool keeps_worker_batches(const Recipe& recipe) {
  if (const auto* const in_step = std::get_if<InStep>(&recipe))
    return in_step->keep == KeepBatch::Worker;
  return shards_of(recipe) == 0;
}

std::uint32_t shards_of(const Recipe& recipe) {
  if (const auto* const in_step = std::get_if<InStep>(&recipe)) return in_step->shards;
  if (const auto* const served = std::get_if<Served>(&recipe)) return served->shards;
  return 0;
}

bool takes_factors(const Recipe& recipe) {
  const auto* const served = std::get_if<Served>(&recipe);
  return (served != nullptr && served->ps.push == PushForm::Factors) ||
         sends_factors(encode_of(recipe));
}

}  // namespace shoal
