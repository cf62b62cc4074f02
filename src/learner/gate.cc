#include "learner/gate.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"

namespace shoal {

ParameterGate::ParameterGate(const Cuts& pieces)
    : missing_(std::make_unique<std::atomic<std::uint64_t>[]>(pieces.size())) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    SHOAL_CHECK_EQ(pieces[i].at, size_, "pieces of the parameters that are not adjacent");
    begins_.push_back(size_);
    missing_[i].store(pieces[i].n.value());
    size_ += pieces[i].n;
  }
}

std::size_t ParameterGate::piece_at(Elements at) const {
  const auto behind = std::ranges::upper_bound(begins_, at);
  return static_cast<std::size_t>(behind - begins_.begin()) - 1;
}

void ParameterGate::came(Elements at, Elements n) {
  const Elements end = at + n;
  SHOAL_CHECK_LE(end, size_);
  for (std::size_t i = piece_at(at); at < end; ++i) {
    const Elements piece_end = i + 1 < begins_.size() ? begins_[i + 1] : size_;
    const Elements to = std::min(end, piece_end);
    const std::uint64_t before = missing_[i].fetch_sub((to - at).value());
    SHOAL_CHECK_GE(before, (to - at).value(), "a range of the parameters arrived twice");
    at = to;
  }
  turn_.fetch_add(1);
  turn_.notify_all();
  changed_.notify_all();
}

void ParameterGate::refuse() {
  refuses_.store(true);
  turn_.fetch_add(1);
  turn_.notify_all();
  changed_.notify_all();
}

bool ParameterGate::is_open(Elements at, Elements n) const {
  if (n == Elements(0)) return true;
  for (std::size_t i = piece_at(at); i < begins_.size() && begins_[i] < at + n; ++i)
    if (missing_[i].load() > 0) return false;
  return true;
}

Task<void> ParameterGate::until(Env& env, Elements at, Elements n) {
  const Time begin = env.now();
  while (!is_open(at, n)) {
    if (refuses_.load()) throw Cancelled();
    co_await changed_.wait();
  }
  waited_ns_ += (env.now() - begin).count();
}

bool ParameterGate::waited(Env& env, Elements at, Elements n) {
  if (is_open(at, n)) return true;
  const Time begin = env.now();
  while (true) {
    const std::uint32_t turn = turn_.load();
    if (is_open(at, n)) break;
    if (refuses_.load()) return false;
    turn_.wait(turn);
  }
  waited_ns_ += (env.now() - begin).count();
  return true;
}

void ParameterGate::wait(Env& env, Elements at, Elements n) {
  if (!waited(env, at, n)) throw Cancelled();
}

}  // namespace shoal
