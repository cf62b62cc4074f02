#include "sync/model_buffers.h"

#include <algorithm>
#include <span>
#include <utility>

#include "sync/operations.h"

namespace shoal {

void ModelBuffers::keep() {
  after_.clear();
  next_.clear();
  kept_ = false;
  if (!replica_.valid) return;
  const std::span<float> buffers = replica_.buffers().data();
  before_.assign(buffers.begin(), buffers.end());
  kept_ = true;
}

void ModelBuffers::put_back() {
  if (kept_) std::ranges::copy(before_, replica_.buffers().data().begin());
}

void ModelBuffers::keep_after(std::size_t micro_shard) {
  const std::span<float> buffers = replica_.buffers().data();
  after_.resize(micro_shard * buffers.size());
  after_.insert(after_.end(), buffers.begin(), buffers.end());
}

void ModelBuffers::take() {
  const std::size_t count = replica_.buffers().data().size();
  keep_after(count == 0 ? 0 : after_.size() / count);
  put_back();
}

Task<void> ModelBuffers::average(const Group& group) {
  const std::size_t count = replica_.buffers().data().size();
  if (count == 0) co_return;
  const std::vector<MicroShard>& micro_shards = dealing_.micro_shards();
  std::vector<std::size_t> place(micro_shards.size());  // of each among those of its worker
  std::vector<std::size_t> each(group.size(), 0);       // micro-shards of a worker
  for (std::size_t i = 0; i < micro_shards.size(); ++i)
    if (micro_shards[i].winner != kDropped) place[i] = each[micro_shards[i].winner.value()]++;
  const std::size_t most = std::max<std::size_t>(1, *std::ranges::max_element(each));
  after_.resize(most * count, 0.0F);
  const std::span<const float> own = after_;
  const std::vector<float> all =
      co_await gathering_.of_all(group, own, operation(operations::kBuffers, replica_.step));

  const std::size_t averaged = (layout_.averaged() - layout_.parameters()).value();
  std::vector<double> mean(averaged, 0);
  next_.assign(count, 0.0F);
  bool first = true;
  for (std::size_t i = 0; i < micro_shards.size(); ++i) {
    if (micro_shards[i].counted == 0) continue;
    const float* const from =
        all.data() + (micro_shards[i].winner.value() * most + place[i]) * count;
    const double weight =
        static_cast<double>(micro_shards[i].counted) / static_cast<double>(dealing_.batch());
    for (std::size_t k = 0; k < averaged; ++k) mean[k] += weight * static_cast<double>(from[k]);
    if (std::exchange(first, false)) std::copy_n(from, count, next_.begin());
  }
  std::ranges::transform(mean, next_.begin(), [](double m) { return static_cast<float>(m); });
}

void ModelBuffers::finish() {
  if (!next_.empty()) std::ranges::copy(next_, replica_.buffers().data().begin());
  kept_ = false;
}

void ModelBuffers::give_up() {
  if (replica_.valid) put_back();
  kept_ = false;
}

}  // namespace shoal
