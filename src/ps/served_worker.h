// The worker of a job with servers: computes, pushes and reads (served.h).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "learner/learner.h"
#include "ps/client.h"
#include "ps/encoded_push.h"
#include "ps/factored.h"
#include "ps/partial_push.h"
#include "ps/sample_scheduler.h"
#include "ps/served.h"
#include "ps/served_group.h"
#include "ps/shard_directories.h"
#include "ps/shard_map.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "replica/shard_sums.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/task_group.h"

namespace shoal {

inline constexpr std::uint32_t kBlocks = 32;  // of what is held out

using Eta = std::function<double(std::uint64_t version)>;

class ServedWorker {
 public:
  // All outlive it; it lives until kServing is retired for good.
  ServedWorker(Node& node, Learner& learner, CheckpointStore& checkpoints, Replica& replica,
               const ServedOptions& options, ShardDirectories& directories,
               const std::vector<ShardCut>& cuts, const Eta& eta, Journal* journal);

  // To the end of all epochs.
  Task<void> run();
  // What the others of its group ask it for, until it is cancelled.
  Task<void> serve_group() { return group_.serve(); }

 private:
  using Visit = std::function<Task<void>(std::uint32_t shard)>;

  // ---- In an epoch
  Task<void> train();
  Task<void> help();
  Task<void> come_in();
  Task<void> next_share();
  Task<void> compute();
  Task<void> compute_pass(ServedGroup::Pass pass, Range into, Score& score);
  Task<void> add_up();
  Task<void> advance();
  Task<void> push_all(bool asks, bool reads);
  Task<void> move_alone(std::uint32_t shard, std::uint64_t samples);
  Task<void> push(std::uint32_t shard, bool asks, bool reads);
  Task<void> read(std::uint32_t shard);
  Task<void> enter(std::uint32_t shard);
  Task<void> leave(std::uint32_t shard);
  Task<void> at_all_shards(Visit visit);
  bool too_old(std::uint32_t shard, std::uint64_t clock) const;
  void note_what_is_used();
  void took(std::uint32_t shard, const ReadState& read);
  void take_next();
  WantedShare wanted_share() const;

  // ---- Pushes of factors, in parts and encoded (served_parts.cc)
  Task<void> take_layers(Channel<Ready>& ready);
  Task<Range> packed(std::uint32_t shard);
  Task<void> choose_part(bool last);
  Range part(std::uint32_t shard, Push& push) const;
  Task<TrainAnswer> with_keys(std::uint32_t shard, TrainRequest request, TrainAnswer answer);
  Task<void> add_what_waits(std::uint32_t shard);
  Task<void> encode();
  bool holds_back() const;
  Task<void> push_what_waits();

  // ---- Sums of logical shards (served_shards.cc)
  struct ShardSum {
    Subtree of;
    Range values;
  };
  struct Lost {
    RoundShards shards{};
    bool made = false;  // here
  };
  bool in_rounds() const { return options_.logical > 0; }
  Task<void> compute_shards();
  Task<std::vector<ShardSum>> sums_of(RoundShards shards, Score& score);
  Task<void> compute_shard(RoundShards of, std::uint32_t shard, GradientTarget target,
                           Score& score);
  Task<void> push_shards();
  Task<void> push_sums(std::uint32_t shard, const std::vector<ShardSum>& sums, bool reads);
  Task<void> push_sum(std::uint32_t shard, ShardSum sum, bool reads);
  Task<void> make_up_for_lost(const bool& done, TaskGroup& tasks);
  Task<void> follow_lost();

  // ---- What servers send by themselves
  Task<void> follow(std::uint32_t shard);
  Task<void> adopt_what_came();

  // ---- At its end
  Task<void> end_epoch();
  Task<void> snapshot(std::uint32_t shard);
  Task<void> save();
  Task<Score> evaluate(std::uint32_t block);

  Ending leaves() {
    const Ending own = journal_ == nullptr ? Ending::No : journal_->leave();
    return own != Ending::No ? own : group_.stops();
  }
  Range of(const Range& all, std::uint32_t shard) const {
    return all.slice(cuts_[shard].at, cuts_[shard].n);
  }
  Client::Room room(std::uint32_t shard) {
    if (in_rounds()) return {.w = of(replica_.next_w().slice(Elements(0), replica_.N), shard)};
    return {.w = of(replica_.parameters(), shard)};
  }

  Node& node_;
  Learner& learner_;
  CheckpointStore& checkpoints_;
  Replica& replica_;
  const ServedOptions& options_;
  Client client_;
  ServedGroup group_;
  const std::vector<ShardCut>& cuts_;
  const Eta& eta_;
  Journal* journal_;

  // Of what this worker has of each shard.
  struct Had {
    std::uint64_t version = 0;
    std::uint64_t least = 0;  // all workers' steps up to this clock are in it
    bool fresh = false;       // read after the step at hand
  };
  std::vector<Had> had_;
  // What a server sent by itself, and this worker has not looked at yet.
  struct Sent {
    bool there = false;
    FollowAnswer answer{};
  };
  std::vector<Sent> sent_;
  Signal heard_;  // it has looked
  std::vector<std::optional<Arena>> packed_;
  std::optional<PartialPush> parts_;    // where pushes are in parts
  std::optional<EncodedPush> encoded_;  // where they are encoded
  bool as_it_is_ = false;               // but not the one at hand
  ShardSums shard_sums_;
  RoundShards next_round_;                     // of the step at hand: the round, and the own shards
  std::vector<ShardSum> own_sums_;             // of these
  std::vector<Lost> lost_;                     // shards of others,
  std::deque<std::vector<ShardSum>> made_up_;  // and what was computed for them in this step

  std::uint64_t clock_ = 0;    // steps in its pushes
  std::uint64_t held_ = 0;     // steps since, whose gradients are added up in g
  std::uint64_t samples_ = 0;  // of these
  std::uint64_t steps_ = 0;    // since it last read
  Range last_;                 // the gradient of the step at hand
  std::vector<Layer> layers_;  // of it, where factors are pushed
  std::uint64_t epoch_;        // whose end is next; ends before are past
  std::uint64_t settled_ = 0;  // shares of this life that all shards have
  std::uint64_t newest_ = 0;   // version of a shard, when it came in
  std::uint64_t ended_ = 0;    // samples of all workers, as last told
  Share share_;
  bool over_ = false;  // the epoch is
  bool end_ = false;
  bool left_ = false;  // it has no samples, and nobody waits for it
  Ending stops_ = Ending::No;
  StepReport report_;
  GivenShare next_;         // after this step
  RoundShards next_piece_;  // of it, in rounds
};

}  // namespace shoal
