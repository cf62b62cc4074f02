// Post: models, gradients or parts of them, sent to others without waiting for anybody.
//
//   post.listen(leg, Keep::All);                // from now on, what comes is kept
//   Post::Outgoing& letter = post.blank();    // written into letter.arena; then
//   post.send(leg, peers, letter, n);         // it is on its way, and training goes on
//   while (const std::optional<Letter> letter = post.next()) ...
//   co_await post.until_all_came(leg);        // at the end of a leg
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
#include "decentral/leg.h"
#include "runtime/channel.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// It is in the memory of whoever got it, and keeps nobody waiting.
struct Letter {
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

class Post {
 public:
  struct Outgoing {
    Outgoing(Endpoint& endpoint, Elements n, Substance substance) : arena(endpoint, n, substance) {}
    Arena arena;
    std::uint64_t readers = 0;  // who have not got it yet
  };

  // Of letters of at most n numbers.
  Post(Node& node, Elements n, Substance substance, MessageKind kind = kModel)
      : node_(node), n_(n), substance_(substance), kind_(kind) {}

  // In every view, before its first leg; and when it is over.
  void begin(const Company& company);
  void view_over() { came_.clear(); }
  // In every leg.
  void listen(Leg& leg, Keep keep);

  // One that nobody reads. It is to be sent, also where it turns out that nobody is to have it.
  Outgoing& blank();
  // Its first n numbers, to all of these.
  void send(Leg& leg, std::span<const Rank> to, Outgoing& letter, Elements n);
  bool under_way(Rank to) const { return sending_[to.value()] > 0; }
  Task<void> until_sent(Leg& leg, Rank to);

  // The first that has come of those that are here; and the next of a member, whenever it comes.
  std::optional<Letter> next();
  Task<Letter> next_from(Leg& leg, Rank from);
  // What all others have sent in this view is here.
  Task<void> until_all_came(Leg& leg);
  // Everyone has got all that was sent to it.
  Task<void> until_all_sent(Leg& leg);

 private:
  Task<void> take(Leg& leg);
  Task<void> deliver(Leg& leg, Rank to, Outgoing& letter, Elements n);
  Task<void> until_idle(Rank to);
  std::shared_ptr<Arena> free_room();
  Task<void> until_from(Rank from);
  Task<void> count_up(Leg& leg);
  void note(Leg& leg, EventKind kind, NodeId peer, ConstBuf what) const;
  std::deque<Letter>::iterator first_from(Rank from);

  Node& node_;
  const Elements n_;
  const Substance substance_;
  const MessageKind kind_;
  Keep keep_ = Keep::All;
  std::deque<Letter> came_;
  std::deque<Outgoing> outgoing_;
  std::vector<std::shared_ptr<Arena>> rooms_;   // of letters that have come
  std::vector<std::uint64_t> sent_, received_;  // in this view, by rank
  std::vector<std::uint64_t> sending_;          // under way
  Gathering gathering_;
  Signal changed_;
};

}  // namespace shoal
