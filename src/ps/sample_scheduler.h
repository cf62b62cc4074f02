// The scheduler: decides which worker computes which samples, and gives out the tasks at an epoch's
// end. It is part of the first shard's state, so it lives as long, and so do its copies: everything
// here is a function of the calls so far.
//
//   open_shares.h  shares of samples, dealt to one worker at a time
//   dealt_round.h  rounds, dealt to all workers at once
//   epoch_end.h    when all samples of an epoch have ended: buffers, evaluation, saving
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "data/ledger.h"
#include "learner/learner.h"
#include "ps/dealt_round.h"
#include "ps/epoch_end.h"
#include "ps/ledger_words.h"
#include "ps/open_shares.h"
#include "runtime/view.h"

namespace shoal {

struct Course {
  std::uint64_t epochs = 1;
  std::uint64_t last = 0;    // samples of the last epoch; 0: all
  std::uint32_t blocks = 0;  // of held-out samples; 0: nothing is evaluated
  bool buffers = false;      // the model's state has more than parameters
};

class SampleScheduler {
 public:
  SampleScheduler(Ledger ledger, Course course);

  const OpenShares& shares() const { return shares_; }
  const DealtRound& dealt_round() const { return round_; }
  const EpochEnd& epoch_end() const { return end_; }

  // ---- In an epoch
  // Settles the shares that the wish reports, and deals the share, or none.
  Share deal(const Wish& wish) { return shares_.deal(ledger_, wish, left()); }
  void deal_round(std::uint64_t number, std::uint64_t n, std::span<const RoundPiece> pieces);
  void recall_round(const Round& round, std::span<const RoundPiece> pieces);
  // As in OpenShares and DealtRound.
  void lose(NodeId worker, Incarnation life, std::uint64_t reached, SampleEnd end);
  void leave(NodeId worker, Incarnation life, std::uint64_t settled);
  void drop(NodeId worker, Incarnation life, std::uint64_t number);
  // Samples that can be dealt now.
  std::uint64_t left() const;
  // Nothing of the epoch was dealt, and no worker is in the middle of a step: the epoch before
  // ended here, or the job begins. Otherwise some may be, of an epoch that was lost.
  bool at_start() const { return whole_ && fresh(); }
  void begin_job() { whole_ = true; }
  // The epoch ends with the samples that were dealt, and is the last; a Stopped job is not
  // evaluated.
  void stop(Ending how);
  bool stopped() const { return stopped_ != Ending::No; }
  // Nothing more is dealt before the epoch's end is past.
  bool over() const;

  // ---- At an epoch's end
  EndOfEpochTask task(std::uint64_t epoch) const;
  void buffers_sent(std::uint64_t epoch);
  void score(std::uint64_t epoch, std::uint32_t block, const Score& score);
  void saved(std::uint64_t epoch);

  std::uint64_t epoch() const { return ledger_.epoch(); }
  std::uint64_t past() const { return end_.past(); }  // epochs whose end is past
  LedgerTally tally() const { return ledger_.tally(); }
  std::uint64_t ended() const;  // samples, of all epochs, with those that are in pushes
  LedgerPlace place() const;    // as if the open shares had never been dealt

  std::vector<std::uint64_t> words() const;
  void restore(std::span<const std::uint64_t> words);
  void restore(const LedgerPlace& place);

 private:
  bool fresh() const;  // nothing of the epoch was dealt
  bool ends_now(std::uint64_t epoch) const { return over() && epoch == ledger_.epoch(); }

  Ledger ledger_;
  Course course_;
  bool whole_ = false;  // all dealt samples of the epoch are known here
  Ending stopped_ = Ending::No;
  OpenShares shares_;
  DealtRound round_;
  EpochEnd end_;
};

}  // namespace shoal
