// A group of workers that is one worker to the servers. MXNet's KVStore merges the workers of a
// host first: Chen et al., "MXNet: A Flexible and Efficient Machine Learning Library for
// Heterogeneous Distributed Systems", 2015, arXiv:1512.01274; groups that are synchronous inside
// and asynchronous between them: Mamidala et al., "MXNET-MPI", 2018, arXiv:1801.03855; a tree of
// servers: Gupta et al. 2016 (Rudra).
//
//   leader, the first of the group in the view, for each share of k B samples:
//     cut it into k pieces, and compute the first
//     give each other one to a member that asks, with w; it brings its last gradient
//     G <- g_0 + g_1 + .. + g_(k-1); push it and read, as a worker does (served.h)
//   member: ask the leader; copy w from it; compute the piece
//
// If a group writes back after d steps, its share is k B d samples, in pieces of B, and each member
// computes one after another, at the current parameters of its leader: served_leaf.h.
//
// Symbols: k members, N parameters, B samples of a worker's step.
// Cost a step: outside the group that of one worker, 2N, for any number of members; inside 2(k-1) N
//   to and from the leader, of which on one host only the members' copies of w are made.
// Deviations: the leader sums, because only it knows which gradients were pushed; MXNET-MPI has an
//   all-reduce there. The leader computes pieces that no member asks for, so no worker waits for a
//   late member.
// Failure: the piece of a lost member is given to another one. A lost leader's share is dealt again
//   if it was not pushed, as any worker's is; the members continue with the next leader. When an
//   earlier leader comes back, the current one ends its step, and leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "data/ledger.h"
#include "ps/groups.h"
#include "ps/protocol.h"
#include "ps/served_context.h"
#include "ps/served_leaf.h"
#include "ps/shard_map.h"
#include "ps/shard_state.h"
#include "ps/slots.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class ServedGroup {
 public:
  // The gradient of some samples at the worker's parameters.
  struct Pass {
    Share share{};
    Step step{};
  };
  using Compute = std::function<Task<void>(Pass pass, Range into, Score& score)>;

  // The context outlives it; it lives until kServing is retired for good.
  ServedGroup(const ServedContext& context, Compute compute);

  // Whether this worker is the one that the servers know.
  bool leads() const;
  // Answers the members, until it is cancelled.
  Task<void> serve();

  // ---- As leader
  // The start of a step.
  struct Round {
    Pass pass{};
    std::uint64_t version = 0;  // of the parameters
    std::uint64_t least = 0;    // all groups' steps up to this clock are in them
    double eta = 0;
    std::uint64_t ended = 0;  // samples, of all workers
  };
  // The sum of the gradients of all pieces. Reports the score and the time of this worker's own
  // pieces, and how long it waited for others.
  Task<void> gradient(Round round, Range sum, StepReport& report);
  void open();                             // It has samples, and will have more.
  void close();                            // It has left the servers.
  void epoch_over(std::uint64_t epoch);    // Members shall do the tasks of its end.
  Ending stops() const { return stops_; }  // A member asks to deal no more samples.

  // ---- As member
  // Returns when an epoch ends, with that epoch; or when this worker leads. It has seen the ends of
  // epochs before `epoch`.
  Task<std::optional<std::uint64_t>> help(std::uint64_t epoch, Journal* journal);

 private:
  struct Piece {
    enum class State : std::uint8_t { Free, Out, Ours, There };
    Share share{};
    State state = State::Free;
    Holder member{};      // the member that has it
    Gradient gradient{};  // of it
  };
  // From a member.
  struct Help {
    std::uint64_t number = 0;  // of its messages, in all its lives
    Incarnation life;
    Generation view;          // by which it found the leader
    std::uint64_t epoch = 0;  // it has seen the ends of those before
    Ending stops = Ending::No;
    std::uint32_t brings = 0;  // 1: a gradient, of
    std::uint64_t round = 0;   // this round's
    std::uint64_t piece = 0;   // piece
  };
  // To a member.
  struct Order {
    enum class Kind : std::uint32_t { Compute, Over, NotHere };
    Kind kind = Kind::NotHere;
    std::uint64_t round = 0, piece = 0;
    Pass pass{};
    std::uint64_t version = 0;
    double eta = 0;
    std::uint64_t ended = 0;
    std::uint64_t epoch = 0;  // Over: whose end it is
  };
  struct Call {
    Help help;
    Order order;
  };
  // The gradient of the member's last piece, until the leader has it.
  struct Made {
    Holder leader{};
    Order order{};
    StepReport report{};
    Time done{};
  };

  Task<void> take_requests();
  Task<void> watch_views();
  Task<void> answer(NodeId from, Help help);
  Task<void> take_gradient(Holder member, Help help);
  std::optional<Order> order_for(Holder member, const Help& help);
  Task<void> reply(Holder member, std::uint64_t number, Order order);
  void give_up_lost();
  void note_use(NodeId member) const;
  Piece* find(Piece::State state);
  bool writes_back() const { return context_.recipe.ps.write_back > 1; }
  void cut(const Share& share);
  Task<void> compute_own(Pass pass, Range sum, bool begun, Score& score);
  Task<void> add_up(Range sum);
  UpdateStep leaf_step() const;

  Task<Order> ask(Holder leader, Help help);
  Task<void> take_order(Call& call, Holder leader);
  Holder leader() const;

  Node& node_;
  Replica& replica_;
  const ServedContext& context_;
  Compute compute_;
  Leaf leaf_;
  // As leader.
  Round round_;
  std::uint64_t rounds_ = 0;  // so far
  std::vector<Piece> pieces_;
  std::optional<Arena> spare_;  // for the gradient of a second piece
  bool open_ = false;
  Ending stops_ = Ending::No;
  std::optional<std::uint64_t> over_;  // the epoch whose end it is
  Signal changed_;
  Help incoming_;
  Slots<Order> orders_;
  // As member.
  std::uint64_t number_;
  std::optional<std::uint64_t> ended_;  // samples, by the last message
  Slots<Call> calls_;
};

}  // namespace shoal
