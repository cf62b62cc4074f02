// The layout of shared memory: a lane written by a sender, and answers written by its receiver.
// Each is one segment; each side maps the other's for reading.
//
//   lane     LaneHead | slots x Descriptor | eager bytes
//   answers  AnswerHead | slots x u64 answer
//
// Counters only grow; the counted item is at counter mod slots. A counter is stored after the item
// (release), and loaded before it (acquire).
//
// Wake-ups are not lost: a sleeper stores `asleep` and then checks the counters again; a writer
// stores the counter and then checks `asleep`. The sleeper's two accesses are sequentially
// consistent, and there is a fence between the writer's two, so one of the sides sees the other.
// The fence comes at the end of the turn, once for all counters: it waits until every earlier store
// has reached the caches, which for a payload takes as long as the rest of sending it. A peer that
// has slept for longer than a store takes is seen, and rung for, at once.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/header.h"
#include "transport/shm/address.h"

namespace shoal::shm {

inline constexpr std::uint32_t kLaneMagic = 0x454E'414C;    // "LANE"
inline constexpr std::uint32_t kAnswerMagic = 0x5257'5341;  // "ASWR"
inline constexpr std::uint32_t kSlotsMax = 1U << 20U;
inline constexpr std::uint32_t kEagerRingMax = 1U << 30U;
inline constexpr std::uint64_t kLine = 64;  // bytes of a cache line

using Counter = std::atomic<std::uint64_t>;
static_assert(Counter::is_always_lock_free && sizeof(Counter) == 8);

// `asleep`: 0, or the number of the sleep in the upper bits and the wake-up conditions below.
inline constexpr std::uint64_t kWakeForNews = 1;  // a message, or an answer
inline constexpr std::uint64_t kWakeForRoom = 2;  // room for an answer, or for a message
inline constexpr std::uint32_t kSleepShift = 2;

struct Shape {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t slots;       // a power of two
  std::uint32_t eager_ring;  // bytes, a power of two; 0 in answers
};

struct LaneHead {
  Shape shape;
  alignas(64) Counter published;      // descriptors
  alignas(64) Counter answers_taken;  // of the receiver's answers
  alignas(64) Counter asleep;
  alignas(64) Counter let_go;  // not 0: the sender may have overwritten its payloads
};

struct AnswerHead {
  Shape shape;
  alignas(64) Counter taken;     // descriptors of the lane that are copied out: their slots are
                                 // free
  alignas(64) Counter answered;  // answers
  alignas(64) Counter asleep;
};

enum class Kind : std::uint32_t {
  Eager = 1,   // payload at `at` in the eager bytes
  Window = 2,  // payload at `at` in the region; to be released
  Offer = 3,   // payload not there yet; to be wanted or released
  Staged = 4,  // the wanted payload of `number` is at `at` in the region; to be released
};

struct Descriptor {
  HeaderBytes header;
  std::uint64_t size;  // of the payload
  std::uint64_t number;
  std::uint64_t at;
  std::uint32_t region;
  Kind kind;
  std::array<std::uint64_t, 4> unused;
};
static_assert(sizeof(Descriptor) == 128);

// An answer: the number of a message and, in the lowest bit, whether it is wanted or released.
inline constexpr std::uint64_t kReleased = 0;
inline constexpr std::uint64_t kWanted = 1;

inline constexpr std::size_t lane_size(std::uint32_t slots, std::uint32_t eager_ring) {
  return sizeof(LaneHead) + std::size_t{slots} * sizeof(Descriptor) + eager_ring;
}
inline constexpr std::size_t answers_size(std::uint32_t slots) {
  return sizeof(AnswerHead) + std::size_t{slots} * sizeof(std::uint64_t);
}
inline constexpr bool power_of_two_up_to(std::uint32_t value, std::uint32_t most) {
  return std::has_single_bit(value) && value <= most;
}

// Copies data that a peer may be changing: every word is loaded exactly once, so that the checked
// value is the used value.
template <class T>
T load_once(const std::byte* at) {
  static_assert(sizeof(T) % 8 == 0 && std::is_trivially_copyable_v<T>);
  std::array<std::uint64_t, sizeof(T) / 8> words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto* word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(at + 8 * i));
    words[i] = std::atomic_ref<std::uint64_t>(*word).load(std::memory_order_relaxed);
  }
  return std::bit_cast<T>(words);
}

}  // namespace shoal::shm
