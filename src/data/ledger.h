// The sample ledger: which samples of an epoch go to whom, and what became of each.
//
// An epoch is a permutation of the samples, drawn from (seed, epoch), so that it depends on nobody.
// The ledger leases ranges of its positions to workers; a lease is settled with an end state or
// given back when its worker is lost, and then dealt again. After an epoch every sample has exactly
// one end state.
//
// Synchronous strategies keep the same ledger on every replica: they make the same calls.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.h"

namespace shoal {

// Consecutive positions of one epoch's permutation.
struct Share {
  std::uint64_t epoch = 0;
  std::uint64_t at = 0;
  std::uint64_t n = 0;

  auto operator<=>(const Share&) const = default;
};

enum class SampleEnd : std::uint8_t { Applied, Dropped, Lost, Partial };
inline constexpr std::size_t kSampleEnds = 4;

// Over all epochs so far: how many samples ended how, and how many have not ended yet.
struct LedgerTally {
  std::array<std::uint64_t, kSampleEnds> ended{};
  std::uint64_t open = 0;  // of the present epoch
};

// Where a ledger with no lease out stands: what a checkpoint or a newcomer needs.
struct LedgerPlace {
  std::uint64_t epoch = 0;
  std::uint64_t at = 0;  // everything before is applied

  auto operator<=>(const LedgerPlace&) const = default;
};

class Ledger {
 public:
  Ledger(Seed seed, std::uint64_t samples);  // REQUIRES: samples > 0

  // At most `n` consecutive positions that nobody has; fewer where a gap or the epoch ends, none
  // when nothing is left to deal.
  Share deal(NodeId worker, Incarnation life, std::uint64_t n);
  // A share that is leased ends. REQUIRES: leased, whole or in part, to one worker.
  void settle(const Share& share, SampleEnd end);
  // Everything that is leased ends; returns how many samples that are.
  std::uint64_t settle_leases(SampleEnd end);
  // Everything leased to that life of a worker, or to anyone, may be dealt again.
  void revoke(NodeId worker, Incarnation life);
  void revoke_all();

  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t samples_per_epoch() const { return samples_; }
  // Positions that can be dealt: of this epoch, or of the next when all of this one has ended.
  std::uint64_t left() const;
  // When every sample of the epoch has ended the next one begins by itself, at the next deal.
  bool epoch_ended() const;

  // Whose samples they are.
  std::vector<SampleId> samples(const Share& share) const;

  LedgerTally tally() const;
  LedgerPlace place() const;  // REQUIRES: no lease is out, and what has ended was applied, in order
  void restore(const LedgerPlace& place);

 private:
  struct Span {  // the spans of an epoch lie end to end; neighbours differ
    std::uint64_t at, n;
    enum class State : std::uint8_t { Free, Leased, Ended } state;
    SampleEnd end{};
    NodeId worker{};
    Incarnation life{};
    bool same_kind(const Span& o) const;
  };
  void begin_epoch(std::uint64_t epoch);
  // Makes [at, at + n) a span of its own and returns it. REQUIRES: inside one span.
  Span& carve(std::uint64_t at, std::uint64_t n);
  void merge();

  Seed seed_;
  std::uint64_t samples_;
  std::uint64_t epoch_ = 0;
  std::vector<Span> spans_;
  std::array<std::uint64_t, kSampleEnds> past_{};  // of finished epochs
};

}  // namespace shoal
