// AsyncSender: models, gradients or parts of them, sent to others without waiting for anybody.
//
//   sender.listen(round, Keep::All);                // from now on, what comes is kept
//   AsyncSender::Outgoing& message = sender.blank();    // written into message.arena; then
//   sender.send(round, peers, message, n);         // it is on its way, and training goes on
//   while (const std::optional<ReceivedModel> message = sender.next()) ...
//   co_await sender.until_all_came(round);        // at the end of a round
//
// Failure: what is under way when a view ends is lost.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collective/dissemination.h"
#include "decentral/training_round.h"
#include "runtime/channel.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// It is in the memory of whoever got it, and keeps nobody waiting.
struct ReceivedModel {
  Rank from;
  Received what;
  std::shared_ptr<Arena> room;

  // As many as must be in it; none of a phantom's.
  std::span<const float> numbers(Elements n) const;
};

enum class Keep : std::uint8_t {
  All,
  Newest,  // of each sender
};

class AsyncSender {
 public:
  struct Outgoing {
    Outgoing(Endpoint& endpoint, Elements n, Substance substance) : arena(endpoint, n, substance) {}
    Arena arena;
    std::uint64_t readers = 0;  // who have not got it yet
  };

  // Of messages of at most n numbers.
  AsyncSender(Node& node, Elements n, Substance substance, PeerMessage kind = kModel)
      : node_(node), n_(n), substance_(substance), kind_(kind) {}

  // In every view, before its first round; and when it is over.
  void begin(const ViewContext& context);
  void view_over() { came_.clear(); }
  // In every round.
  void listen(TrainingRound& round, Keep keep);

  // One that nobody reads. It is to be sent, also where it turns out that nobody is to have it.
  Outgoing& blank();
  // Its first n numbers, to all of these.
  void send(TrainingRound& round, std::span<const Rank> to, Outgoing& message, Elements n);
  bool under_way(Rank to) const { return sending_[to.value()] > 0; }
  Task<void> until_sent(TrainingRound& round, Rank to);

  // The first that has come of those that are here; and the next of a member, whenever it comes.
  std::optional<ReceivedModel> next();
  Task<ReceivedModel> next_from(TrainingRound& round, Rank from);
  // What all others have sent in this view is here.
  Task<void> until_all_came(TrainingRound& round);
  // Everyone has got all that was sent to it.
  Task<void> until_all_sent(TrainingRound& round);

 private:
  Task<void> take(TrainingRound& round);
  Task<void> deliver(TrainingRound& round, Rank to, Outgoing& message, Elements n);
  Task<void> until_idle(Rank to);
  std::shared_ptr<Arena> free_room();
  Task<void> until_from(Rank from);
  Task<void> count_up(TrainingRound& round);
  void note(TrainingRound& round, EventKind kind, NodeId peer, ConstBuf what) const;
  std::deque<ReceivedModel>::iterator first_from(Rank from);

  Node& node_;
  const Elements n_;
  const Substance substance_;
  const PeerMessage kind_;
  Keep keep_ = Keep::All;
  std::deque<ReceivedModel> came_;
  std::deque<Outgoing> outgoing_;
  std::vector<std::shared_ptr<Arena>> rooms_;   // of messages that have come
  std::vector<std::uint64_t> sent_, received_;  // in this view, by rank
  std::vector<std::uint64_t> sending_;          // under way
  Gathering gathering_;
  Signal changed_;
};

}  // namespace shoal
