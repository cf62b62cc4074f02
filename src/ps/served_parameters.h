// The parameters that a worker has: what it has read of each shard, what servers send by themselves
// (Dai et al. 2015, ESSP), and its own steps in between.
#pragma once

#include <cstdint>
#include <vector>

#include "ps/requests.h"
#include "ps/served_context.h"
#include "ps/served_push_forms.h"
#include "runtime/channel.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class ServedParameters {
 public:
  ServedParameters(ServedContext& worker, PushForms& forms)
      : worker_(worker), forms_(forms), shards_(worker.cuts.size()), sent_(worker.cuts.size()) {}

  std::uint64_t version(std::uint32_t shard) const { return shards_[shard].read.version; }
  std::uint64_t least() const;  // of all shards (ReadState::least)
  // For a worker that has made `clock` steps, under a bound on staleness.
  bool too_old(std::uint32_t shard, std::uint64_t clock) const;
  void record_use() const;  // for the checkers: the bound holds also for what was read long ago

  // ---- Reads
  Task<void> read(std::uint32_t shard);
  void took(std::uint32_t shard, const ReadState& read) { shards_[shard] = {read, true}; }
  void took_snapshot(std::uint32_t shard, std::uint64_t version) {
    shards_[shard].read.version = version;
  }
  // A push begins: what was read so far is without it.
  void outdate(std::uint32_t shard) { shards_[shard].fresh = false; }
  // Makes the worker's own step, unless the shard was read after it. `g`: of all parameters.
  Task<void> move_alone(std::uint32_t shard, Range g, std::uint64_t samples);

  // ---- What servers send by themselves
  // Receives until the worker leaves.
  Task<void> follow(std::uint32_t shard);
  Task<void> adopt_what_came();
  void stop_following();

 private:
  struct Shard {
    ReadState read{};
    bool fresh = false;  // read after the current step
  };
  // The last parameters that a server has sent by itself, until the worker takes them.
  struct Sent {
    bool there = false;
    FollowAnswer answer{};
  };
  ServedContext& worker_;
  PushForms& forms_;
  std::vector<Shard> shards_;
  std::vector<Sent> sent_;
  Signal looked_;  // at what was sent
};

}  // namespace shoal
