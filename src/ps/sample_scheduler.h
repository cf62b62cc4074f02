// The scheduler: which worker computes which samples. It is part of the first shard's state, so
// that it lives as long, and its copies as well: everything here is a function of the calls so far.
//
//   an epoch:   shares of its samples, until all of them have ended; w stands still then
//               one worker tells what its forward passes have changed (learner/layout.h)
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
#include "runtime/view.h"

namespace shoal {

std::vector<std::uint64_t> to_words(const LedgerPlace& place);
// From the front of `words`, which it shortens.
LedgerPlace place_from(std::span<const std::uint64_t>& words);

struct Course {
  std::uint64_t epochs = 1;
  std::uint64_t last = 0;    // samples of the last one; 0: all
  std::uint32_t blocks = 0;  // into which the samples held out are cut; 0: nothing is evaluated
  bool rest = false;         // the model's state has more than parameters
};

// Where the sums of logical shards are of one fixed tree (collective/fixed_tree.h): the samples of
// a step, cut into as many nearly equal shards as there are leaves.
struct Round {
  std::uint64_t number = 0;  // the clock of its step
  Share samples{};
};
// Those of neighbouring shards; the first ones are the longer.
Share samples_of(const Round& round, std::uint32_t L, std::uint32_t from, std::uint32_t to);

// Who computes which of them.
struct RoundPiece {
  NodeId worker;
  Incarnation life;
  std::uint32_t from = 0, to = 0;  // shards
  bool lost = false;               // with its worker
};
std::vector<std::uint64_t> to_words(std::span<const RoundPiece> pieces);
std::vector<RoundPiece> pieces_from(std::span<const std::uint64_t> words);

class SampleScheduler {
 public:
  SampleScheduler(Ledger ledger, Course course);

  // A worker's shares are numbered from its clock on, in each of its lives.
  struct Wish {
    NodeId worker;
    Incarnation life;
    std::uint64_t number = 0;   // of the share it wants
    std::uint64_t settled = 0;  // its shares below this one are in the parameters of all shards
    std::uint64_t n = 0;        // samples, at most; 0: it wants none
    std::uint64_t pushed = 0;   // its shares below this one are in pushes, wholly or in part
  };
  // Settles what the wish says, and gives the share, or none.
  Share deal(const Wish& wish);
  // A share that is open.
  std::optional<Share> dealt(NodeId worker, Incarnation life, std::uint64_t number) const;
  // The number of the next share of a life that has had one.
  std::optional<std::uint64_t> next(NodeId worker, Incarnation life) const;
  // Samples that can be dealt now.
  std::uint64_t left() const;
  // Nothing of the epoch was dealt, and no worker is in the middle of a step: the one before ended
  // here, or the job begins. Else some may be, of an epoch that was lost.
  bool at_start() const { return whole_ && fresh(); }
  void begin_job() { whole_ = true; }
  // Nothing more is dealt before the epoch's end is past.
  bool over() const;
  // The worker is lost. Its open shares from `reached` on came nowhere, and are dealt again; those
  // before did: at all shards (Applied) or some (Partial).
  void lose(NodeId worker, Incarnation life, std::uint64_t reached, SampleEnd end);
  // Shares of that life that are not settled: the first of them, and how many.
  struct Open {
    Incarnation life;
    std::uint64_t first = 0;
    std::vector<Share> shares;
    std::uint64_t pushed = 0;  // shares below this one are in pushes, but not wholly
  };
  const std::map<NodeId, Open>& open() const { return open_; }
  // The worker goes away. Its shares below `settled` are in the parameters of all shards; what else
  // it was dealt it has not heard of, and others get it.
  void leave(NodeId worker, Incarnation life, std::uint64_t settled);
  // A push was refused: its share ends as dropped, not applied.
  void drop(NodeId worker, Incarnation life, std::uint64_t number);

  // ---- In rounds, where the recipe has logical shards
  // One at a time: the next is dealt when all of the last is in the parameters of all shards.
  const std::optional<Round>& round() const { return round_; }
  const std::vector<RoundPiece>& pieces() const { return pieces_; }
  const RoundPiece* piece_of(NodeId worker, Incarnation life) const;  // that is not lost
  // A worker whose shares below `settled` are in the parameters of all shards has seen the round at
  // hand there. One that has no piece of it may speak of rounds before this state was loaded as it
  // was saved.
  bool settles_round(NodeId worker, Incarnation life, std::uint64_t settled) const;
  // Of the round at hand, as they were lost, also those that somebody else has by now.
  const std::vector<RoundPiece>& lost() const { return lost_; }
  // Settles the round before, and deals another of at most n samples; or gives lost pieces of the
  // one at hand to others.
  void deal_round(std::uint64_t number, std::uint64_t n, std::span<const RoundPiece> pieces);
  // One that was dealt before this state was loaded as it was saved, as a worker of it tells. Its
  // samples will be dealt again.
  void recall_round(const Round& round, std::span<const RoundPiece> pieces);

  // The epoch ends with what was dealt, and is the last; of a Stopped job it is not evaluated.
  void stop(Ending how);
  bool stopped() const { return stopped_ != Ending::No; }

  // ---- At an epoch's end
  enum class EndOfEpochTask : std::uint32_t {
    None,      // as what was done: nothing yet
    Rest,      // tell the rest of the state
    Evaluate,  // a block that has no score
    Save,
    GoOn,  // it is past; there is another epoch
    End,   // it is past; there is none
  };
  EndOfEpochTask task(std::uint64_t epoch) const;
  const std::vector<std::optional<Score>>& scores() const { return scores_; }
  Score total() const { return total_; }  // of the last epoch that is past
  void rest_told(std::uint64_t epoch);
  void score(std::uint64_t epoch, std::uint32_t block, const Score& score);
  void saved(std::uint64_t epoch);

  std::uint64_t epoch() const { return ledger_.epoch(); }
  std::uint64_t past() const { return past_; }  // epochs whose end is past, too
  LedgerTally tally() const { return ledger_.tally(); }
  std::uint64_t ended() const;  // samples, of all epochs, with those that are in pushes
  LedgerPlace place() const;    // as if what is open had never been dealt

  std::vector<std::uint64_t> words() const;
  void restore(std::span<const std::uint64_t> words);
  void restore(const LedgerPlace& place);

 private:
  Share deal(const Wish& wish, Open& open);
  void settle(NodeId worker, Open& open, std::uint64_t below, SampleEnd end);
  void settle_round();
  void lose_piece(NodeId worker, Incarnation life);
  // What is open of a worker, in sum over all of them: taken off before it changes, and put back.
  struct Outstanding {
    std::uint64_t shares = 0;
    std::uint64_t in_pushes = 0;  // samples
  };
  static Outstanding outstanding_of(const Open& open);
  void put_on(const Open& open);
  void take_off(const Open& open);
  bool fresh() const;  // nothing of the epoch was dealt
  bool ends_now(std::uint64_t epoch) const { return over() && epoch == ledger_.epoch(); }

  Ledger ledger_;
  Course course_;
  bool whole_ = false;  // all that was dealt of the epoch is known here
  Ending stopped_ = Ending::No;
  std::uint64_t past_ = 0;
  bool rest_told_ = false;                    // at the present epoch's end
  std::vector<std::optional<Score>> scores_;  // as well
  Score total_;
  std::map<NodeId, Open> open_;
  Outstanding outstanding_;
  std::map<NodeId, std::vector<std::uint64_t>> dropped_;
  std::optional<Round> round_;
  bool recalled_ = false;  // the round, and so not in the ledger
  std::vector<RoundPiece> pieces_, lost_;
};

}  // namespace shoal
