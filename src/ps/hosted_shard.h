// A shard on one of its holders: its state, its position in the chain of holders, and turns. A
// handler that changes the shard has the turn while it does so.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/types.h"
#include "ps/shard_map.h"
#include "ps/shard_state.h"
#include "runtime/channel.h"
#include "runtime/task.h"

namespace shoal {

// Pushes that were announced and are not applied yet, in the order in which they were announced.
// Hsieh et al. 2017 (Gaia): a read waits for those that were announced before it.
class AnnouncedPushes {
 public:
  using Key = std::pair<NodeId, std::uint64_t>;  // the sender, and its request's number
  void announce(Key key) { all_[key] = count_++; }
  bool end(Key key) { return all_.erase(key) > 0; }  // true: the push was announced
  std::uint64_t count() const { return count_; }     // so far
  bool awaited(std::uint64_t before) const;

 private:
  std::map<Key, std::uint64_t> all_;
  std::uint64_t count_ = 0;
};

class HostedShard {
 public:
  // Ends when it is destroyed.
  class Turn {
   public:
    explicit Turn(HostedShard& shard) : shard_(&shard) { shard.busy_ = true; }
    Turn(Turn&& other) noexcept : shard_(std::exchange(other.shard_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (shard_ != nullptr) shard_->end_turn();
    }

   private:
    HostedShard* shard_;
  };

  std::uint32_t number = 0;
  Generation directory;  // that the chain is from
  Chain chain;
  bool ours = false;   // the state is here, or is being loaded here
  bool ready = false;  // the state is here
  std::unique_ptr<ShardState> state;
  Holder next{};                   // gets the records; none: this is the last holder
  std::uint64_t acknowledged = 0;  // records that this holder and all after it have
  bool measuring = false;  // norms for the next update: no push may join those that wait for it
  AnnouncedPushes announced;
  Signal changed;

  const ClockRow* row(Holder worker) const { return state->table().find(worker.node, worker.life); }
  ClockRow* row(Holder worker) { return state->table().find(worker.node, worker.life); }
  SampleScheduler* scheduler() { return state->scheduler(); }
  const SampleScheduler* scheduler() const { return state->scheduler(); }

  // ---- Turns
  Task<Turn> turn();
  // Among waiting pushes, the one with the least clock is first.
  Task<Turn> turn_of_push(std::uint64_t clock);
  // Whether a handler has the turn; or an update runs: only shares of samples may change then.
  bool busy() const { return busy_; }
  bool at_work() const { return busy_ || updating_; }
  // Lets others have the turn; and takes it again. REQUIRES: the caller has it, as a Turn.
  void pause_turn() { end_turn(); }
  void resume_turn() { busy_ = true; }

  // An update that a record has begun; run_update() computes its parameters. REQUIRES: no one
  // changes the parameters, or destroys the state, until then.
  void begin_update() { updating_ = true; }
  Task<void> run_update();

 private:
  void end_turn() {
    busy_ = false;
    changed.notify_all();
  }

  bool busy_ = false;
  bool updating_ = false;
  std::multiset<std::uint64_t> waiting_{};  // the clocks of pushes that wait for their turn
};

}  // namespace shoal
