// Open shares: the samples that were dealt to each worker and are not in the parameters of all
// shards yet. A worker numbers its shares from its clock on, and gets the same share when it asks
// for the same number again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "data/ledger.h"

namespace shoal {

// A worker's request for a share.
struct Wish {
  NodeId worker;
  Incarnation life;
  std::uint64_t number = 0;   // of the share
  std::uint64_t settled = 0;  // its shares below this one are in the parameters of all shards
  std::uint64_t n = 0;        // samples, at most; 0: none
  std::uint64_t pushed = 0;   // its shares below this one are in pushes, wholly or in part
};

class OpenShares {
 public:
  // The shares of one life: the number of the first, and all in order.
  struct Open {
    Incarnation life;
    std::uint64_t first = 0;
    std::vector<Share> shares;
    std::uint64_t pushed = 0;  // shares below this one are in pushes, but not wholly
  };

  // Settles the shares that the wish reports, then deals one of at most `left` samples, or none.
  Share deal(Ledger& ledger, const Wish& wish, std::uint64_t left);
  std::optional<Share> dealt(NodeId worker, Incarnation life, std::uint64_t number) const;
  // The number of the next share of a life that has had one.
  std::optional<std::uint64_t> next(NodeId worker, Incarnation life) const;
  // The worker is lost: its shares below `reached` end as `end`, the others are dealt again.
  void lose(Ledger& ledger, NodeId worker, Incarnation life, std::uint64_t reached, SampleEnd end);
  // The worker leaves: its shares below `settled` are applied. It does not know the others, which
  // are dealt again.
  void leave(Ledger& ledger, NodeId worker, Incarnation life, std::uint64_t settled);
  // A push was refused: its share ends as dropped.
  void drop(NodeId worker, Incarnation life, std::uint64_t number);

  const std::map<NodeId, Open>& all() const { return open_; }
  bool empty() const { return shares_ == 0; }
  std::uint64_t samples_in_pushes() const { return in_pushes_; }

  void clear();
  std::vector<std::uint64_t> words() const;
  // Leases the shares again; they belong to this epoch. REQUIRES: empty.
  void restore(Ledger& ledger, std::uint64_t epoch, std::span<const std::uint64_t>& words);

 private:
  Share deal(Ledger& ledger, const Wish& wish, std::uint64_t left, Open& open);
  void settle(Ledger& ledger, NodeId worker, Open& open, std::uint64_t below, SampleEnd end);
  static std::uint64_t in_pushes(const Open& open);
  // The sums over all workers: taken off before a worker's shares change, and put on after.
  void put_on(const Open& open);
  void take_off(const Open& open);

  std::map<NodeId, Open> open_;
  std::map<NodeId, std::vector<std::uint64_t>> dropped_;
  std::uint64_t shares_ = 0;
  std::uint64_t in_pushes_ = 0;  // samples
};

}  // namespace shoal
