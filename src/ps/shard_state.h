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

// What the update of a shard is, the same at all of its holders.
struct UpdatePlan {
  Rule rule;
  bool mean = true;  // of the samples of an update; false: their gradients add up
  std::function<double(std::uint64_t version)> eta;
  std::span<const Segment> segments;  // of all parameters
  // Above 0: pushes are sums of as many logical shards, which are added up in one fixed tree, and
  // an update is all of them (collective/fixed_tree.h).
  std::uint32_t shards = 0;
};

// A gradient, where it lies, until nobody needs it any more.
struct Gradient {
  ConstBuf bytes;
  std::shared_ptr<const void> hold;
};

// Parameters as an update makes them. Read only: whoever holds them may do so after later updates
// too.
struct Version {
  Version(Endpoint& endpoint, Elements n, Substance substance) : w(endpoint, n, substance) {}

  Arena w;
  Elements made{};  // so many, from the first one on, while the update goes on
  Signal more;
  // The same as they are on their way, piece by piece (protocol.h), where that was asked for.
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
  // For a rule that needs norms, before the record that begins the update: adds up the pushes that
  // wait, then measures this shard's part of the sums of a round.
  Task<void> add_up();
  Task<Sums> measure(unsigned round, const Sums& so_far);
  // The sums of squares of one of the last updates. Null: not known here.
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
  // For the step that comes to a clock: whether the sum of these logical shards is here, and
  // whether all are, together with it; and the greatest clock of the pushes that wait.
  bool has_sum(std::uint64_t clock, Subtree of) const;
  bool has_all(std::uint64_t clock, Subtree with) const;
  std::optional<std::uint64_t> most_waiting() const;
  ClockTable& table() { return table_; }
  const ClockTable& table() const { return table_; }
  SampleScheduler* scheduler() { return scheduler_ ? &*scheduler_ : nullptr; }
  const Staleness& staleness() const { return staleness_; }
  // The model's buffers, as a worker sent them last; null: none did.
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
  std::vector<std::shared_ptr<Version>> versions_;  // those that nobody else holds are free
  // The update that goes on: its gradients, its step, and what it begins with, which is `now_`
  // itself where nobody reads that.
  std::vector<Pending> terms_;
  UpdateStep step_;
  std::shared_ptr<Version> before_;
  Arena sum_;  // of its gradients, where the rule needs norms of it
  bool added_up_ = false;
  std::map<std::uint64_t, Sums> sums_;
  Arena slots_;
  std::optional<SampleScheduler> scheduler_;
  std::shared_ptr<const std::vector<float>> buffers_;
  Staleness staleness_;
};

}  // namespace shoal
