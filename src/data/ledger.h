// The sample ledger: which worker gets which samples of an epoch, and how each sample ended.
//
// An epoch is a permutation of the samples, drawn from (seed, epoch) alone. The ledger leases
// ranges of its positions to workers. A lease is settled with an end state; if its worker is lost,
// it is given back and dealt again. After an epoch every sample has exactly one end state.
//
// Synchronous strategies keep the same ledger on every replica by making the same calls. If the
// samples are partitioned (partition.h), each worker has a ledger over its own samples.
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

// Over all epochs so far: the number of samples by end state, and of samples without one.
struct LedgerTally {
  std::array<std::uint64_t, kSampleEnds> ended{};
  std::uint64_t open = 0;  // in the present epoch
};

// The state of a ledger without pending leases, for a checkpoint or a newcomer.
struct LedgerPlace {
  struct Ended {
    std::uint64_t at = 0, n = 0;
    SampleEnd end{};
    auto operator<=>(const Ended&) const = default;
  };
  std::uint64_t epoch = 0;
  std::array<std::uint64_t, kSampleEnds> past{};  // of earlier epochs: number of samples by end
                                                  // state
  std::vector<Ended> ended{};                     // of this epoch, ascending

  auto operator<=>(const LedgerPlace&) const = default;
  std::uint64_t done() const;  // samples of this epoch with an end state
};

class FullPass;

class Ledger {
 public:
  Ledger(Seed seed, std::uint64_t samples);  // REQUIRES: samples > 0
  // Over these samples alone, each once. REQUIRES: not empty.
  Ledger(Seed seed, std::vector<SampleId> own);

  // Leases at most `n` consecutive free positions: fewer before a gap or the end of the epoch, none
  // if none is left.
  Share deal(NodeId worker, Incarnation life, std::uint64_t n);
  // Leases this free share, as if it had been dealt. REQUIRES: it is in the epoch that would be
  // dealt from, and free.
  void claim(NodeId worker, Incarnation life, const Share& share);
  // Predicts the shares of the next `deals` deals of n positions, for prefetching, provided that no
  // lease is revoked and pending leases end; so it may look into the next epoch.
  std::vector<Share> peek(std::uint64_t n, std::size_t deals) const;
  // Ends a leased share. REQUIRES: leased, completely or in part, to one worker.
  void settle(const Share& share, SampleEnd end);
  // Ends all leases; returns the number of their samples.
  std::uint64_t settle_leases(SampleEnd end);
  // Ends the rest of the epoch as dropped. REQUIRES: no lease is pending.
  void drop_rest();
  // Frees all leases of that incarnation of a worker, or of any worker, to be dealt again.
  void revoke(NodeId worker, Incarnation life);
  void revoke_all();

  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t samples_per_epoch() const { return leases_.size(); }
  // Free positions: of this epoch, or of the next one if this one has ended.
  std::uint64_t left() const;
  // After the last sample of an epoch has ended, the next deal begins the next epoch.
  bool epoch_ended() const;

  // The samples of a share.
  std::vector<SampleId> samples(const Share& share) const;
  // Over the same samples, outside of the epochs: the ledger does not change.
  FullPass full_pass() const;

  LedgerTally tally() const;
  LedgerPlace place() const;  // REQUIRES: no lease is pending
  void restore(const LedgerPlace& place);

 private:
  void begin_epoch(std::uint64_t epoch);
  void turn_over();  // to the next epoch, if this one has ended

  Seed seed_;
  // Null: all samples, and a position is a sample.
  std::shared_ptr<const std::vector<SampleId>> own_;
  std::uint64_t epoch_ = 0;
  Leases leases_;
  std::array<std::uint64_t, kSampleEnds> past_{};  // of finished epochs
};

// Every sample once, in order, without counting as an epoch: for the gradient over all samples.
// Shares are leased and dealt again like those of the ledger.
class FullPass {
 public:
  Share deal(NodeId worker, Incarnation life, std::uint64_t n);  // empty if none is left
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
