#include "strategy/pass_meeting.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "collective/dissemination.h"

namespace shoal {

void PassMeeting::add_up(std::span<double> numbers) {
  answer_.store(Answer::None);
  if (!group_.node.env.post([this, numbers] { ask(numbers); }))
    throw ConfigError(
        "--batch-norm sync: here a pass cannot wait for those of other workers; take local or "
        "group:K");
  answer_.wait(Answer::None);
  if (answer_.load() == Answer::Refused) throw Cancelled();
}

void PassMeeting::ask(std::span<double> numbers) {
  if (refusing_) return answer(Answer::Refused);
  questions_.push(numbers);
}

void PassMeeting::answer(Answer answer) {
  answer_.store(answer);
  answer_.notify_one();
}

Task<void> PassMeeting::serve() {
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

Task<void> PassMeeting::add_over_members(std::span<double> numbers) {
  const std::uint64_t P = group_.size();
  room_.blocks.assign(P * numbers.size_bytes(), std::byte{0});
  room_.room.assign(P * numbers.size_bytes(), std::byte{0});
  std::memcpy(room_.blocks.data() + group_.rank.value() * numbers.size_bytes(), numbers.data(),
              numbers.size_bytes());
  co_await all_gather(group_, room_.blocks, room_.room, operation_++);
  std::vector<double> all(P * numbers.size());
  std::memcpy(all.data(), room_.blocks.data(), room_.blocks.size());
  std::ranges::fill(numbers, 0);
  for (std::size_t i = 0; i < all.size(); ++i) numbers[i % numbers.size()] += all[i];
}

}  // namespace shoal
