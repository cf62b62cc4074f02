#include "ps/epoch_end.h"

#include <algorithm>
#include <utility>

#include "ps/ledger_words.h"

namespace shoal {

EndOfEpochTask EpochEnd::next_task(bool evaluates) const {
  if (buffers_wanted_ && !buffers_sent_) return EndOfEpochTask::SendBuffers;
  const bool all = std::ranges::all_of(scores_, [](const auto& s) { return s.has_value(); });
  return all || !evaluates ? EndOfEpochTask::Save : EndOfEpochTask::Evaluate;
}

void EpochEnd::score(std::uint32_t block, const Score& score) {
  if (block < scores_.size()) scores_[block] = score;
}

void EpochEnd::saved(std::uint64_t epoch) {
  total_ = Score();
  for (std::optional<Score>& s : scores_)
    total_ += std::exchange(s, std::nullopt).value_or(Score());
  buffers_sent_ = false;
  past_ = epoch + 1;
}

void EpochEnd::restart(std::uint64_t past) {
  past_ = past;
  buffers_sent_ = false;
  for (std::optional<Score>& s : scores_) s.reset();
}

std::vector<std::uint64_t> EpochEnd::words() const {
  std::vector<std::uint64_t> w{past_, buffers_sent_ ? 1U : 0U};
  put(w, total_);
  for (const std::optional<Score>& s : scores_) {
    w.push_back(s ? 1 : 0);
    put(w, s.value_or(Score()));
  }
  return w;
}

void EpochEnd::restore(std::span<const std::uint64_t>& words) {
  past_ = next_word(words);
  buffers_sent_ = next_word(words) != 0;
  total_ = next_score(words);
  for (std::optional<Score>& s : scores_) {
    const bool there = next_word(words) != 0;
    const Score one = next_score(words);
    s = there ? std::optional(one) : std::nullopt;
  }
}

}  // namespace shoal
