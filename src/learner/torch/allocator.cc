#include "learner/torch/allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

namespace shoal {
namespace {

constexpr std::size_t kHeader = 64;  // in front of the data, which stays aligned to a cache line
constexpr std::size_t kSmallest = std::size_t{256} << 10U;  // below, the C library does well
constexpr std::size_t kLargePage = std::size_t{2} << 20U;
constexpr std::size_t kPage = std::size_t{4} << 10U;

// The header of every block.
struct Block {
  std::size_t size;  // the whole, header included; 0: it is the C library's
};

Block* block_of(void* data) {
  return reinterpret_cast<Block*>(static_cast<std::byte*>(data) - kHeader);
}
void* data_of(Block* block) { return reinterpret_cast<std::byte*>(block) + kHeader; }

std::size_t rounded(std::size_t bytes) {
  const std::size_t unit = bytes >= kLargePage ? kLargePage / 8 : kPage;
  return (bytes + kHeader + unit - 1) / unit * unit;
}

// Thread safety: all methods may be called from any thread. Invariant: what is kept and what is in
// use are together at most a quarter more than what was ever in use.
class Pool {
 public:
  Block* take(std::size_t bytes) {
    const std::size_t size = rounded(bytes);
    const std::lock_guard lock(mutex_);
    Block* block = find(size);
    if (block == nullptr) block = map(size);
    in_use_ += block->size;
    most_ = std::max(most_, in_use_);
    trim();
    return block;
  }
  void give_back(Block* block) {
    const std::lock_guard lock(mutex_);
    in_use_ -= block->size;
    kept_ += block->size;
    free_.push_back(block);
    trim();
  }

 private:
  // The latest that fits without wasting more than an eighth: it is most likely in the cache.
  Block* find(std::size_t size) {
    const auto it = std::find_if(free_.rbegin(), free_.rend(), [size](const Block* b) {
      return b->size >= size && b->size <= size + size / 8;
    });
    if (it == free_.rend()) return nullptr;
    Block* const block = *it;
    free_.erase(std::next(it).base());
    kept_ -= block->size;
    return block;
  }
  static Block* map(std::size_t size) {
    void* const memory =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    if (size >= kLargePage) madvise(memory, size, MADV_HUGEPAGE);
    return new (memory) Block{size};
  }
  void trim() {
    while (!free_.empty() && kept_ + in_use_ > most_ + most_ / 4) {
      Block* const oldest = free_.front();
      free_.erase(free_.begin());
      kept_ -= oldest->size;
      munmap(oldest, oldest->size);
    }
  }

  std::mutex mutex_;
  std::vector<Block*> free_;  // the one that has waited longest first
  std::size_t kept_ = 0, in_use_ = 0, most_ = 0;
};

Pool& pool() {
  static Pool* const the_pool = new Pool;  // Tensors may be freed after all else is gone.
  return *the_pool;
}

void free_block(void* data) {
  if (data == nullptr) return;
  Block* const block = block_of(data);
  if (block->size == 0) {
    c10::free_cpu(block);
  } else {
    pool().give_back(block);
  }
}

// libtorch 2 has another signature for allocate, and wants copy_data: both are here.
class Allocator final : public at::Allocator {
 public:
  at::DataPtr allocate(std::size_t bytes) const { return make(bytes); }
  at::DataPtr allocate(std::size_t bytes) { return make(bytes); }
  at::DeleterFnPtr raw_deleter() const override { return free_block; }
  void copy_data(void* to, const void* from, std::size_t count) const {
    std::memcpy(to, from, count);
  }

 private:
  static at::DataPtr make(std::size_t bytes) {
    void* data = nullptr;
    if (bytes >= kSmallest) {
      data = data_of(pool().take(bytes));
    } else if (bytes > 0) {
      data = data_of(new (c10::alloc_cpu(bytes + kHeader)) Block{0});
    }
    return {data, data, free_block, at::Device(at::kCPU)};
  }
};

}  // namespace

void keep_tensor_memory() {
  static Allocator* const allocator = [] {
    auto* const a = new Allocator;
    c10::SetCPUAllocator(a, 1);
    return a;
  }();
  (void)allocator;
}

}  // namespace shoal
