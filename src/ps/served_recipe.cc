#include "ps/served_recipe.h"

namespace shoal {
namespace {

// The order in which changes are pushed is chosen by their filter: two names of one choice.
enum class PushOrder : std::uint8_t { Fifo, Magnitude };
constexpr auto kPushOrderNames =
    names<PushOrder>({{PushOrder::Fifo, "fifo"}, {PushOrder::Magnitude, "magnitude"}});

PushOrder order_of(const Filter& filter) {
  return std::holds_alternative<filter::Magnitude>(filter) ? PushOrder::Magnitude : PushOrder::Fifo;
}

}  // namespace

Setting push_order_setting(Filter& filter) {
  Setting row;
  row.name = "order";
  row.printed = false;  // --filter says it
  row.help = "order of pushes: magnitude, the largest changes first, is --filter magnitude:RATE";
  row.choices.assign(kPushOrderNames.all().begin(), kPushOrderNames.all().end());
  row.text = [&filter] { return std::string(kPushOrderNames.of(order_of(filter))); };
  row.set = [&filter](std::string_view text) {
    const PushOrder order = kPushOrderNames.parse("--order", text);
    if (order == order_of(filter)) return;
    // A megabyte a second, where no rate is given.
    if (order == PushOrder::Magnitude) {
      filter = filter::Magnitude{};
    } else {
      filter = filter::None{};
    }
  };
  return row;
}

std::uint64_t servers_of(const Served& recipe, std::uint64_t workers) {
  return recipe.ps.servers > 0 ? recipe.ps.servers : workers;
}

std::uint64_t samples_per_update(const Served& recipe, const TrainingTask& task) {
  if (recipe.shards > 0) return task.all_batches();
  return samples_per_update(recipe.ps, task.batch, task.workers, task.hosts);
}

EpochCount length_of(const Served& recipe, const TrainingTask& task) {
  const std::uint64_t each = samples_per_update(recipe, task);
  return recipe.shards > 0 ? epochs_in_steps(task, each) : epochs_of(task, each);
}

}  // namespace shoal
