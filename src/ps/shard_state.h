// A shard as a state machine: parameters, the optimizer's slots, clocks, and in the first shard the
// scheduler. The head makes the records; holders that apply the same records to the same state, in
// order, get the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "collective/fixed_tree.h"
#include "optim/rule.h"
#include "optim/update.h"
#include "ps/consistency.h"
#include "ps/protocol.h"
#include "ps/records.h"
#include "ps/sample_scheduler.h"
#include "ps/shard_map.h"
#include "replica/staleness.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// The settings of a shard's update, the same at all of its holders.
struct UpdatePlan {
  Rule rule;
  bool mean = true;  // over the samples of an update; false: the sum of their gradients
  std::function<double(std::uint64_t version)> eta;
  std::span<const Segment> segments;  // of all parameters
  // Above 0: pushes are sums over this number of logical shards, which are added in a fixed tree,
  // and an update has all of them (collective/fixed_tree.h).
  std::uint32_t shards = 0;
};

// A gradient in its memory, which is held as long as it is needed.
struct Gradient {
  ConstBuf bytes;
  std::shared_ptr<const void> hold;
};

// Parameters while an update computes them. Read only: they may be held during later updates.
struct Version {
  Version(Endpoint& endpoint, Elements n, Substance substance) : w(endpoint, n, substance) {}

  Arena w;
  Elements made{};  // from the first one on, during the update
  Signal more;
  // The same, encoded for messages, piece by piece (protocol.h), if requested.
  struct Encoded {
    std::shared_ptr<std::byte> data;
    Bytes size;
  };
  std::map<std::uint64_t, Encoded> encoded{};

  void begin(Elements already_made) {
    made = already_made;
    encoded.clear();
  }
};

class ShardState {
 public:
  // `scheduler`: of the first shard.
  ShardState(Node& node, ShardCut cut, Substance substance, const UpdatePlan& plan,
             std::optional<SampleScheduler> scheduler);

  // `part`: the range that follows the record. REQUIRES: the record is the next one, of sequence()
  // + 1. True: it begins an update; everything but the parameters is as after it, and update() is
  // to be called.
  bool apply(const AnyRecord& record, std::optional<Gradient> part);
  // For a rule that needs norms, before the record that begins the update: sums the waiting pushes,
  // then measures this shard's part of the sums of a round.
  Task<void> add_up();
  Task<Sums> measure(unsigned round, const Sums& so_far);
  // The sums of squares of one of the last updates; null: not known here.
  const Sums* sums(std::uint64_t version) const;
  static constexpr std::size_t kSumsKept = 4;  // of as many updates
  // Computes the parameters, piece by piece. No record about them may be applied meanwhile: pushes,
  // and what completes them.
  Task<void> update();

  std::shared_ptr<Version> parameters() const { return now_; }
  Range slots() { return slots_.all(); }
  std::vector<std::uint64_t> words() const;  // everything else

  // From a checkpoint, or as it begins; or from another holder, with words().
  struct Image {
    std::span<const float> w, slots;
    std::span<const float> buffers{};  // of the first shard
  };
  void load(const Image& image, std::uint64_t version);
  void restore(const WholeRecord& whole, const Image& image, std::span<const std::uint64_t> words,
               std::vector<Gradient> waiting);
  // The gradients of pushes that wait for the next update, as words() names them.
  std::vector<Gradient> waiting() const;

  const ShardCut& cut() const { return cut_; }
  std::uint64_t sequence() const { return sequence_; }
  std::uint64_t version() const { return version_; }
  std::uint64_t waiting_pushes() const { return pending_.size(); }
  bool waits(NodeId worker) const;  // a push of it, for the next update
  // For the step with a clock: whether the sum of these logical shards is here; whether all are,
  // together with it; and the greatest clock of the waiting pushes.
  bool has_sum(std::uint64_t clock, Subtree of) const;
  bool has_all(std::uint64_t clock, Subtree with) const;
  std::optional<std::uint64_t> most_waiting() const;
  ClockTable& table() { return table_; }
  const ClockTable& table() const { return table_; }
  SampleScheduler* scheduler() { return scheduler_ ? &*scheduler_ : nullptr; }
  const Staleness& staleness() const { return staleness_; }
  // The last buffers of the model that a worker sent; null: none.
  std::shared_ptr<const std::vector<float>> buffers() const { return buffers_; }

 private:
  struct Pending {
    NodeId worker;
    std::uint64_t clock = 0;
    std::uint64_t samples = 0;
    double weight = 1;
    Gradient gradient{};
    Subtree of{};  // logical shards
  };
  struct Applier;
  ClockRow& row_of(NodeId worker, Incarnation life);
  void take_push(const PushRecord& push, Gradient gradient);
  void skip_to(std::uint64_t round);
  void begin_update(std::uint64_t version, Sums sums);  // that it comes to
  UpdateStep step_of(const std::vector<Pending>& pushes) const;
  Task<void> add_up(std::vector<Pending>& pushes);
  Task<void> update_piece(Elements at, Elements n);
  std::shared_ptr<Version> spare();

  Node& node_;
  ShardCut cut_;
  Substance substance_;
  const UpdatePlan& plan_;
  std::uint64_t sequence_ = 0;
  std::uint64_t version_ = 0;
  ClockTable table_;
  std::vector<Pending> pending_;
  std::shared_ptr<Version> now_;
  std::vector<std::shared_ptr<Version>> versions_;  // those without other holders are free
  // The current update: its gradients, its step, and its input, which is `now_` itself if there is
  // no reader of that.
  std::vector<Pending> terms_;
  UpdateStep step_;
  std::shared_ptr<Version> before_;
  Arena sum_;  // of its gradients, if the rule needs norms
  bool added_up_ = false;
  std::map<std::uint64_t, Sums> sums_;
  Arena slots_;
  std::optional<SampleScheduler> scheduler_;
  std::shared_ptr<const std::vector<float>> buffers_;
  Staleness staleness_;
};

}  // namespace shoal
