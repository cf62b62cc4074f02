// AsyncSender: sends models, gradients or parts of them without waiting for the receivers.
//
//   sender.listen(round, Keep::All);                  // keep all messages from now on
//   AsyncSender::Outgoing& message = sender.blank();  // write into message.arena; then
//   sender.send(round, peers, message, n);            // returns at once, and training continues
//   while (const std::optional<ReceivedModel> message = sender.next()) ...
//   co_await sender.until_all_came(round);            // at the end of a round
//
// Failure: messages under way when a view ends are lost.
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

// A message in the receiver's memory, so that the sender can continue.
struct ReceivedModel {
  Rank from;
  Received what;
  std::shared_ptr<Arena> room;

  // The n numbers that the message must hold; empty for a phantom.
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
    std::uint64_t readers = 0;  // receivers that have not got it yet
  };

  // Sends and receives messages of at most n numbers.
  AsyncSender(Node& node, Elements n, Substance substance, PeerMessage kind = kModel)
      : node_(node), n_(n), substance_(substance), kind_(kind) {}

  // begin() in every view before its first round, view_over() at its end.
  void begin(const ViewContext& context);
  void view_over() { came_.clear(); }
  // Called in every round.
  void listen(TrainingRound& round, Keep keep);

  // A message that no receiver reads. The caller must send it, even if it finds no receiver for it.
  Outgoing& blank();
  // Sends the first n numbers to all these ranks.
  void send(TrainingRound& round, std::span<const Rank> to, Outgoing& message, Elements n);
  bool under_way(Rank to) const { return sending_[to.value()] > 0; }
  Task<void> until_sent(TrainingRound& round, Rank to);

  // next(): the first message that is here, if any. next_from(): waits for the next one of a
  // member.
  std::optional<ReceivedModel> next();
  Task<ReceivedModel> next_from(TrainingRound& round, Rank from);
  // On return this member has everything that the others have sent in this view.
  Task<void> until_all_came(TrainingRound& round);
  // On return all receivers have got what this member sent.
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
  std::vector<std::shared_ptr<Arena>> rooms_;   // for received messages
  std::vector<std::uint64_t> sent_, received_;  // in this view, by rank
  std::vector<std::uint64_t> sending_;          // under way, by rank
  Gathering gathering_;
  Signal changed_;
};

}  // namespace shoal
