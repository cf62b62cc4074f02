#include "sync/in_pass_all_reduce.h"

#include <algorithm>

#include "base/error.h"

namespace shoal {

void InPassAllReduce::add_up(std::span<double> numbers) {
  answer_.store(Answer::None);
  if (!group_.node.env.post([this, numbers] { ask(numbers); }))
    throw ConfigError(
        "--batch-norm sync: here a pass cannot wait for other workers; take local or group:K");
  answer_.wait(Answer::None);
  if (answer_.load() == Answer::Refused) throw Cancelled();
}

void InPassAllReduce::ask(std::span<double> numbers) {
  if (refusing_) return answer(Answer::Refused);
  questions_.push(numbers);
}

void InPassAllReduce::answer(Answer answer) {
  answer_.store(answer);
  answer_.notify_one();
}

Task<void> InPassAllReduce::serve() {
  try {
    while (auto question = co_await questions_.next()) {
      co_await add_over_members(*question);
      answer(Answer::Given);
    }
  } catch (...) {
    refusing_ = true;
    answer(Answer::Refused);
    throw;
  }
}

Task<void> InPassAllReduce::add_over_members(std::span<double> numbers) {
  const std::span<const double> own = numbers;
  const std::vector<double> all = co_await gathering_.of_all(group_, own, operation_++);
  std::ranges::fill(numbers, 0);
  for (std::size_t i = 0; i < all.size(); ++i) numbers[i % numbers.size()] += all[i];
}

}  // namespace shoal
