// Shares of samples, dealt by the head of the first shard to the workers that ask; and the shares
// of lost workers.
#pragma once

#include <cstdint>
#include <map>

#include "ps/chain_replication.h"
#include "ps/client.h"
#include "ps/groups.h"
#include "ps/hosted_shard.h"
#include "ps/requests.h"
#include "ps/server_context.h"
#include "ps/shard_map.h"
#include "ps/worker_handler.h"
#include "runtime/task.h"
#include "runtime/view.h"

namespace shoal {

// The workers that ask for a share or a piece now, and its number. They have entered all shards.
class ShareWaiters {
 public:
  // A worker asks, as long as this lives.
  class Asking {
   public:
    Asking(ShareWaiters& all, Holder worker, std::uint64_t number) : all_(all), worker_(worker) {
      all_.numbers_[worker] = number;
    }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;
    ~Asking() { all_.numbers_.erase(worker_); }

   private:
    ShareWaiters& all_;
    Holder worker_;
  };
  // Null: it does not ask.
  const std::uint64_t* number_of(Holder worker) const {
    const auto it = numbers_.find(worker);
    return it == numbers_.end() ? nullptr : &it->second;
  }
  // Whether all workers of the view ask.
  bool complete(const View& view, const Groups& groups) const;

 private:
  std::map<Holder, std::uint64_t> numbers_;
};

// Thread safety: none; it belongs to the thread of its node.
class ShareHandler {
 public:
  ShareHandler(ServerContext& server, ChainReplication& chain, WorkerHandler& workers,
               Client& client)
      : server_(server), chain_(chain), workers_(workers), client_(client) {}

  // Gives the worker, which has made `clock` steps, its share. False: this node is not the head any
  // more.
  Task<bool> share(HostedShard& shard, Holder worker, WantedShare wanted, std::uint64_t clock,
                   GivenShare& given);
  // Deals the shares of lost workers again, unless all shards have their pushes.
  Task<void> bury_lost(HostedShard& shard);

 private:
  void deal(HostedShard& shard, Holder worker, const WantedShare& wanted, std::uint64_t clock);
  // Whether a part of the gradient in a worker's pushes may still wait at the worker.
  bool held_back() const;

  ServerContext& server_;
  ChainReplication& chain_;
  WorkerHandler& workers_;
  Client& client_;
  ShareWaiters waiters_;
};

}  // namespace shoal
