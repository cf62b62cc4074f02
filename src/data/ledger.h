// The sample ledger: which samples of an epoch go to whom, and what became of each.
//
// An epoch is a permutation of the samples, drawn from (seed, epoch), so that it depends on nobody.
// The ledger leases ranges of its positions to workers; a lease is settled with an end state or
// given back when its worker is lost, and then dealt again. After an epoch every sample has exactly
// one end state.
//
// Synchronous strategies keep the same ledger on every replica: they make the same calls. Where the
// samples are partitioned (partition.h) a ledger is that of one worker, over the samples it owns.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/types.h"
#include "data/leases.h"

namespace shoal {

// Consecutive positions of one epoch's permutation.
struct Share {
  std::uint64_t epoch = 0;
  std::uint64_t at = 0;
  std::uint64_t n = 0;

  auto operator<=>(const Share&) const = default;
};

// Over all epochs so far: how many samples ended how, and how many have not ended yet.
struct LedgerTally {
  std::array<std::uint64_t, kSampleEnds> ended{};
  std::uint64_t open = 0;  // of the present epoch
};

// Where a ledger with no lease out stands: what a checkpoint or a newcomer needs.
struct LedgerPlace {
  struct Ended {
    std::uint64_t at = 0, n = 0;
    SampleEnd end{};
    auto operator<=>(const Ended&) const = default;
  };
  std::uint64_t epoch = 0;
  std::array<std::uint64_t, kSampleEnds> past{};  // of the epochs before, how many ended how
  std::vector<Ended> ended{};                     // of this one, ascending

  auto operator<=>(const LedgerPlace&) const = default;
  std::uint64_t done() const;  // samples of this epoch that have ended
};

class FullPass;

class Ledger {
 public:
  Ledger(Seed seed, std::uint64_t samples);  // REQUIRES: samples > 0
  // Over these samples alone, each once. REQUIRES: there are some.
  Ledger(Seed seed, std::vector<SampleId> own);

  // At most `n` consecutive positions that nobody has; fewer where a gap or the epoch ends, none
  // when nothing is left to deal.
  Share deal(NodeId worker, Incarnation life, std::uint64_t n);
  // That share, which nobody has, as if it had been dealt. REQUIRES: it is of the epoch that would
  // be dealt from, and free.
  void claim(NodeId worker, Incarnation life, const Share& share);
  // The shares that the next `deals` deals of n positions will give, for whoever prepares them, if
  // till then nothing is revoked and what is leased ends; so it may look into the next epoch.
  std::vector<Share> peek(std::uint64_t n, std::size_t deals) const;
  // A share that is leased ends. REQUIRES: leased, whole or in part, to one worker.
  void settle(const Share& share, SampleEnd end);
  // Everything that is leased ends; returns how many samples that are.
  std::uint64_t settle_leases(SampleEnd end);
  // What is left of the epoch ends as dropped. REQUIRES: no lease is out.
  void drop_rest();
  // Everything leased to that life of a worker, or to anyone, may be dealt again.
  void revoke(NodeId worker, Incarnation life);
  void revoke_all();

  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t samples_per_epoch() const { return leases_.size(); }
  // Positions that can be dealt: of this epoch, or of the next when all of this one has ended.
  std::uint64_t left() const;
  // When every sample of the epoch has ended the next one begins by itself, at the next deal.
  bool epoch_ended() const;

  // Whose samples they are.
  std::vector<SampleId> samples(const Share& share) const;
  // Over the same samples, beside the epochs: the ledger does not change.
  FullPass full_pass() const;

  LedgerTally tally() const;
  LedgerPlace place() const;  // REQUIRES: no lease is out
  void restore(const LedgerPlace& place);

 private:
  void begin_epoch(std::uint64_t epoch);
  void turn_over();  // to the next epoch, if all of this one has ended

  Seed seed_;
  std::shared_ptr<const std::vector<SampleId>> own_;  // null: all, and a position is a sample
  std::uint64_t epoch_ = 0;
  Leases leases_;
  std::array<std::uint64_t, kSampleEnds> past_{};  // of finished epochs
};

// Every sample once, in order and not counted as an epoch: what a whole gradient is made of. Shares
// are leased and dealt again as those of the ledger are.
class FullPass {
 public:
  Share deal(NodeId worker, Incarnation life, std::uint64_t n);  // none when nothing is left
  void settle(const Share& share);                               // REQUIRES: it is leased
  void revoke(NodeId worker, Incarnation life) { leases_.revoke(worker, life); }
  bool ended() const { return leases_.ended(); }
  std::uint64_t left() const { return leases_.free(); }
  std::vector<SampleId> samples(const Share& share) const;

 private:
  friend class Ledger;
  FullPass(std::shared_ptr<const std::vector<SampleId>> own, std::uint64_t samples,
           std::uint64_t epoch)
      : own_(std::move(own)), epoch_(epoch), leases_(samples) {}

  std::shared_ptr<const std::vector<SampleId>> own_;
  std::uint64_t epoch_;  // of the ledger: shares name it, so that draws per epoch are those of now
  Leases leases_;
};

}  // namespace shoal
