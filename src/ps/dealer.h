// The dealer: which worker computes which samples, where workers do not move in step. It is part of
// the first shard's state, so that it lives as long, and its copies as well: everything here is a
// function of the calls so far.
//
//   an epoch:   shares of its samples, until all of them have ended; w stands still then
//               blocks of the samples held out, until all have a score
//               one worker saves the state
//
// A worker counts what it asks for, and is told the same when it asks the same again. What it holds
// is open until all shards have its gradient, which it tells when it next asks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "data/ledger.h"
#include "learner/learner.h"

namespace shoal {

class Dealer {
 public:
  // `blocks`: into which the samples held out are cut; 0: nothing is evaluated.
  Dealer(Ledger ledger, std::uint64_t epochs, std::uint32_t blocks)
      : ledger_(std::move(ledger)), epochs_(epochs), scores_(blocks) {}

  // A worker's shares are numbered from 0 in each of its lives.
  struct Wish {
    NodeId worker;
    Incarnation life;
    std::uint64_t number = 0;   // of the share it wants
    std::uint64_t settled = 0;  // its shares below this one are in the parameters of all shards
    std::uint64_t n = 0;        // samples, at most
  };
  enum class Now : std::uint8_t {
    Share,    // deal() gives one
    Nothing,  // as long as others compute the last ones of an epoch, or this worker does
    Over,     // the epoch is
  };
  // What deal() would come to. Changes nothing.
  Now ask(const Wish& wish) const;
  bool settles(const Wish& wish) const;  // whether deal() would settle anything
  // Settles what the wish says, and gives the share, or none.
  Share deal(const Wish& wish);
  // The worker is lost. Its open shares from `reached` on came nowhere, and are dealt again; those
  // before did: at all shards (Applied) or some (Partial).
  void lose(NodeId worker, Incarnation life, std::uint64_t reached, SampleEnd end);
  // Shares of that life that are not settled: the first of them, and how many.
  struct Open {
    Incarnation life;
    std::uint64_t first = 0;
    std::vector<Share> shares;
  };
  const std::map<NodeId, Open>& open() const { return open_; }
  // A push was refused: its share ends as dropped, not applied.
  void drop(NodeId worker, Incarnation life, std::uint64_t number);

  // ---- At an epoch's end
  enum class Errand : std::uint32_t {
    None,      // as what was done: nothing yet
    Evaluate,  // a block that has no score
    Save,
    GoOn,  // it is past; there is another epoch
    End,   // it is past; there is none
  };
  Errand errand(std::uint64_t epoch) const;
  const std::vector<std::optional<Score>>& scores() const { return scores_; }
  Score total() const { return total_; }  // of the last epoch that is past
  void score(std::uint64_t epoch, std::uint32_t block, const Score& score);
  void saved(std::uint64_t epoch);

  std::uint64_t epoch() const { return ledger_.epoch(); }
  LedgerTally tally() const { return ledger_.tally(); }
  LedgerPlace place() const;  // as if what is open had never been dealt

  std::vector<std::uint64_t> words() const;
  void restore(std::span<const std::uint64_t> words);
  void restore(const LedgerPlace& place);

 private:
  void settle(Open& open, std::uint64_t below, SampleEnd end);
  // Nothing more is dealt before the epoch's end is past.
  bool over() const {
    return past_ >= epochs_ || (ledger_.epoch_ended() && past_ <= ledger_.epoch());
  }

  Ledger ledger_;
  std::uint64_t epochs_;
  std::uint64_t past_ = 0;                    // epochs whose end is past, too
  std::vector<std::optional<Score>> scores_;  // of the present epoch's end
  Score total_;
  std::map<NodeId, Open> open_;
  std::map<NodeId, std::vector<std::uint64_t>> dropped_;
};

}  // namespace shoal
