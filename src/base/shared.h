// Shared: numbers that several threads read and write at the same time, without locks, on purpose.
// This is the one type whose races are meant: whoever uses it says that a lost update is no error.
//
// Loads and stores are of whole numbers, in no order (relaxed): a plain move on common machines.
// add() is a load and a store, and loses what another thread stores in between, as in Recht et al.
// 2011; a compare-and-swap would cost several times as much.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

namespace shoal {

class Shared {
 public:
  // The numbers outlive this, and nobody uses them otherwise meanwhile.
  explicit Shared(std::span<float> numbers) : numbers_(numbers) {}

  std::size_t size() const { return numbers_.size(); }
  float load(std::size_t i) const {
    return std::atomic_ref<float>(numbers_[i]).load(std::memory_order_relaxed);
  }
  void store(std::size_t i, float x) const {
    std::atomic_ref<float>(numbers_[i]).store(x, std::memory_order_relaxed);
  }
  void add(std::size_t i, float x) const { store(i, load(i) + x); }

 private:
  std::span<float> numbers_;
};

}  // namespace shoal
