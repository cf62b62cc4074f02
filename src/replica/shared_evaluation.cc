#include "replica/shared_evaluation.h"

#include <algorithm>

namespace shoal {

void SharedEvaluation::begin() {
  if (blocks_.size() == kBlocks && step_ == replica_.step && lineage_ == replica_.lineage) return;
  blocks_.assign(kBlocks, std::nullopt);
  step_ = replica_.step;
  lineage_ = replica_.lineage;
}

std::uint64_t SharedEvaluation::known() const {
  std::uint64_t bits = 0;
  for (std::uint64_t b = 0; b < kBlocks; ++b)
    if (blocks_[b]) bits |= std::uint64_t{1} << b;
  return bits;
}

Task<void> SharedEvaluation::evaluate(Env& env, std::uint64_t block) {
  const std::uint64_t n = learner_.held_out();
  blocks_[block] =
      co_await learner_.evaluate(env, replica_.w(), block * n / kBlocks, (block + 1) * n / kBlocks);
}

Task<Score> SharedEvaluation::run(const Group& group, std::uint64_t operation) {
  begin();
  const std::uint64_t own = known();
  std::uint64_t somewhere = 0;
  for (const std::uint64_t bits : co_await bits_.of_all(group, own, operation)) somewhere |= bits;
  std::uint64_t next = 0;  // counts the blocks dealt so far
  for (std::uint64_t b = 0; b < kBlocks; ++b) {
    if ((somewhere >> b & 1U) != 0) continue;
    if (next++ % group.size() == group.rank.value()) co_await evaluate(group.node.env, b);
  }

  struct Known {
    std::uint64_t known;
    Score score;
  };
  std::vector<Known> mine;
  for (const std::optional<Score>& score : blocks_)
    mine.push_back({score ? 1U : 0U, score.value_or(Score())});
  const std::span<const Known> told = mine;
  const std::vector<Known> all = co_await scores_.of_all(group, told, operation + 1);
  Score total;
  for (std::uint64_t b = 0; b < kBlocks; ++b)
    for (std::uint64_t r = 0; r < group.size(); ++r)
      if (const Known& there = all[r * kBlocks + b]; there.known != 0) {
        total += there.score;
        break;
      }
  co_return total;
}

}  // namespace shoal
