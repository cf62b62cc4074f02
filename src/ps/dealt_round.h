// Rounds, where the sums of logical shards follow one fixed tree (collective/fixed_tree.h): the
// samples of a step are cut into as many nearly equal logical shards as the tree has leaves, and
// each worker computes neighbouring ones. One round at a time: the next is dealt when all of the
// last is in the parameters of all shards.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "data/ledger.h"

namespace shoal {

struct Round {
  std::uint64_t number = 0;  // the clock of its step
  Share samples{};
};
// The samples of neighbouring logical shards, of L; the first ones are the longer.
Share samples_of(const Round& round, std::uint32_t L, std::uint32_t from, std::uint32_t to);

// Neighbouring logical shards of a round.
struct RoundShards {
  Round round{};
  std::uint32_t from = 0, to = 0;
};

// The logical shards that one worker computes.
struct RoundPiece {
  NodeId worker;
  Incarnation life;
  std::uint32_t from = 0, to = 0;
  bool lost = false;  // with its worker
};
std::vector<std::uint64_t> to_words(std::span<const RoundPiece> pieces);
std::vector<RoundPiece> pieces_from(std::span<const std::uint64_t> words);

class DealtRound {
 public:
  const std::optional<Round>& round() const { return round_; }
  const std::vector<RoundPiece>& pieces() const { return pieces_; }
  const RoundPiece* piece_of(NodeId worker, Incarnation life) const;  // that is not lost
  // The pieces of the round that were lost, also those that another worker has by now.
  const std::vector<RoundPiece>& lost() const { return lost_; }
  // Whether a worker whose shares below `settled` are in the parameters of all shards has seen the
  // round there. A worker without a piece of it may speak of rounds before this state was loaded
  // from a checkpoint.
  bool settled_by(NodeId worker, Incarnation life, std::uint64_t settled) const;

  // Ends the round before, and deals the next of n samples; or gives lost pieces of this one to
  // other workers.
  void deal(Ledger& ledger, std::uint64_t number, std::uint64_t n,
            std::span<const RoundPiece> pieces);
  // A round that was dealt before this state was loaded from a checkpoint, as a worker reports it.
  // Its samples will be dealt again.
  void recall(Ledger& ledger, const Round& round, std::span<const RoundPiece> pieces);
  void lose(NodeId worker, Incarnation life);
  void settle(Ledger& ledger);

  void clear();
  std::vector<std::uint64_t> words() const;
  void restore(Ledger& ledger, std::span<const std::uint64_t>& words);  // REQUIRES: no round

 private:
  std::optional<Round> round_;
  bool recalled_ = false;  // so the ledger does not have it
  std::vector<RoundPiece> pieces_, lost_;
};

}  // namespace shoal
