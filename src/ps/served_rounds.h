// The worker's half of reproducible rounds: it pushes sums of logical shards
// (replica/shard_sums.h), and after a loss also those of the lost. A shard that was loaded it tells
// which rounds are over. The server's half is round_handler.h.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "collective/fixed_tree.h"
#include "learner/learner.h"
#include "ps/dealt_round.h"
#include "ps/served_context.h"
#include "ps/served_parameters.h"
#include "replica/shard_sums.h"
#include "runtime/channel.h"
#include "runtime/range.h"
#include "runtime/task.h"
#include "runtime/task_group.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class ServedRounds {
 public:
  ServedRounds(ServedContext& worker, ServedParameters& parameters)
      : worker_(worker),
        parameters_(parameters),
        shard_sums_(worker.node, worker.replica.N, worker.learner.substance()),
        loads_(worker.cuts.size()) {}

  void begin(const RoundShards& piece) { piece_ = piece; }
  // Computes the sums of the own piece.
  Task<void> compute(Score& score);
  // Pushes them and reads; returns the staleness. Meanwhile it computes the pieces of workers that
  // are lost.
  Task<double> push();
  // Receives the pieces of lost workers, until this worker leaves.
  Task<void> follow_lost();
  // There is a new directory: shards may have been loaded.
  void note_directory();

 private:
  struct ShardSum {
    Subtree of;
    Range values;
  };
  struct LostPiece {
    RoundShards shards{};
    bool computed = false;  // here
  };
  Task<std::vector<ShardSum>> sums_of(RoundShards shards, Score& score);
  Task<void> compute_shard(RoundShards of, std::uint32_t shard, GradientTarget target,
                           Score& score);
  Task<void> push_sums(std::uint32_t shard, const std::vector<ShardSum>& sums, bool reads);
  Task<void> push_sum(std::uint32_t shard, ShardSum sum, bool reads);
  Task<void> make_up_for_lost(const bool& done, TaskGroup& tasks);
  bool must_tell(std::uint32_t shard) const;
  Task<void> tell_what_is_over(const bool& done);

  ServedContext& worker_;
  ServedParameters& parameters_;
  ShardSums shard_sums_;
  RoundShards piece_;  // of the step at hand
  std::vector<ShardSum> own_;
  std::vector<LostPiece> lost_;
  std::deque<std::vector<ShardSum>> made_up_;  // for lost pieces, in this step
  // By shard: how often it was loaded, as far as directories say; and in this step whether a push
  // to it has ended, and up to which load, or which head, it knows that the round is over.
  struct Told {
    bool ended = false;
    std::uint64_t load = 0;
    Holder head{};
  };
  std::vector<std::uint64_t> loads_;
  std::vector<Told> told_;
  ShardDirectory directory_;  // the last
  double staleness_ = 0;
  Signal changed_;  // lost pieces, the directory, or the end of pushes
};

}  // namespace shoal
