// Shared: numbers that several threads read and write at the same time, without locks, on purpose.
// This is the only type with intended races; its users accept lost updates.
//
// Loads and stores are whole numbers with relaxed order: plain moves on common machines. add() is a
// load and a store, and loses a store of another thread in between, as in Recht et al. 2011; a
// compare-and-swap would cost several times as much.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

namespace shoal {

class Shared {
 public:
  // The numbers outlive this object, and only this object accesses them meanwhile.
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
