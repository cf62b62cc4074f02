#include "learner/torch/allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>

namespace shoal {
namespace {

constexpr std::size_t kHeader = 64;  // before the data, which stays aligned to a cache line
// For smaller blocks the C library is good enough.
constexpr std::size_t kSmallest = std::size_t{256} << 10U;
constexpr std::size_t kPage = std::size_t{4} << 10U;

// The header of every block.
struct Block {
  std::size_t size;  // including the header; 0: a block of the C library
};

Block* block_of(void* data) {
  return reinterpret_cast<Block*>(static_cast<std::byte*>(data) - kHeader);
}
void* data_of(Block* block) { return reinterpret_cast<std::byte*>(block) + kHeader; }

std::size_t rounded(std::size_t bytes) { return (bytes + kHeader + kPage - 1) / kPage * kPage; }

// Cuts blocks from one stretch of addresses, as long as the machine's memory; untouched parts take
// no memory. A freed block joins the holes beside it. Each block is put into the smallest hole that
// is large enough, and the end of the stretch is the largest hole. So a step uses the same places
// as the step before.
//
// Thread safety: all methods may be called from any thread. Invariants: blocks and holes are whole
// pages and cover the stretch; no hole is next to another.
class Pool {
 public:
  Pool() {
    const std::size_t size = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                             static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;  // address space is limited: the C library does everything
    madvise(memory, size, MADV_HUGEPAGE);
    begin_ = static_cast<std::byte*>(memory);
    holes_[0] = size;
  }

  // Null: no hole is large enough.
  Block* take(std::size_t bytes) {
    const std::size_t size = rounded(bytes);
    const std::lock_guard lock(mutex_);
    auto best = holes_.end();
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole)
      if (hole->second >= size && (best == holes_.end() || hole->second < best->second))
        best = hole;
    if (best == holes_.end()) return nullptr;
    const auto [at, room] = *best;
    holes_.erase(best);
    if (room > size) holes_[at + size] = room - size;
    return new (begin_ + at) Block{size};
  }

  void give_back(Block* block) {
    const std::lock_guard lock(mutex_);
    const std::ptrdiff_t at = reinterpret_cast<std::byte*>(block) - begin_;
    const auto hole = holes_.emplace(static_cast<std::size_t>(at), block->size).first;
    join(hole, std::next(hole));
    if (hole != holes_.begin()) join(std::prev(hole), hole);
  }

  void empty_holes() {
    const std::lock_guard lock(mutex_);
    for (const auto& [at, size] : holes_) madvise(begin_ + at, size, MADV_DONTNEED);
  }

 private:
  using Holes = std::map<std::size_t, std::size_t>;  // sizes, by offset

  void join(Holes::iterator hole, Holes::iterator next) {
    if (next == holes_.end() || hole->first + hole->second != next->first) return;
    hole->second += next->second;
    holes_.erase(next);
  }

  std::mutex mutex_;
  std::byte* begin_ = nullptr;
  Holes holes_;
};

Pool& pool() {
  static Pool* const the_pool = new Pool;  // never destroyed: tensors may be freed after all static
                                           // objects
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

// libtorch 2 has another signature for allocate, and needs copy_data: both are here.
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
    if (bytes == 0) return {nullptr, nullptr, free_block, at::Device(at::kCPU)};
    Block* block = bytes >= kSmallest ? pool().take(bytes) : nullptr;
    if (block == nullptr) block = new (c10::alloc_cpu(bytes + kHeader)) Block{0};
    void* const data = data_of(block);
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

void release_tensor_memory() { pool().empty_holes(); }

}  // namespace shoal
