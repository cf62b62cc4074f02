// What nodes say to each other about shards. Every message here has generation 0: servers outlive
// views, and only the lives of the two count.
//
//   worker to head      Ask, then the gradient where there is one       Ask, Gradient
//   head to worker      Answer, then what belongs to it                 Answer, Parameters, ..
//   holder to next one  Record, then what belongs to it                 Record, Part
//   next one to holder  how many records it has                        Has
//   worker to leader    Help, then the gradient where there is one      Help, PieceGradient
//   leader to worker    Order, then the parameters where there is one   Order, PieceParameters
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/types.h"
#include "data/ledger.h"
#include "learner/learner.h"
#include "runtime/header.h"
#include "runtime/range.h"
#include "runtime/slices.h"

namespace shoal {

inline constexpr GroupId kServing{2};

// The upper 8 bits of a tag's id say what it is, the rest which one.
enum class MessageKind : std::uint8_t {
  Ask,
  Gradient,
  Answer,
  Parameters,  // of the shard
  Slots,       // of the optimizer
  Rest,        // of the model's state
  News,        // as words: of an epoch's end (EpochSummary), or sums of squares
  Record,
  Part,
  Has,
  // Inside a group of workers (ps/served_group.h).
  Help,
  PieceGradient,
  Order,
  PieceParameters,
};
inline Tag tag_of(MessageKind what, std::uint64_t which) {
  return Tag{kServing, Generation(0), static_cast<std::uint64_t>(what) << 56U | which};
}

// Parameters come in pieces, in order, so that the first are copied while the last are still made.
// All have the same tag. A short shard comes whole: it is one of many, which overlap each other.
inline constexpr Elements kPiece{kSliceElements};
inline constexpr Elements kUncutMost{3 * kSliceElements};
inline std::uint64_t pieces_of(Elements n) {
  return n <= kUncutMost ? 1 : (n.value() + kPiece.value() - 1) / kPiece.value();
}
inline Range piece_of(const Range& all, std::uint64_t i) {
  if (all.n <= kUncutMost) return all;
  const Elements at = kPiece * i;
  return all.slice(at, std::min(kPiece, all.n - at));
}

struct Ask {
  enum class Kind : std::uint32_t {
    Enter,   // it is new or was away. At the first shard it waits for samples, and gets a clock
    Leave,   // there are no samples for it, and nobody shall wait for it
    Train,   // push, if samples > 0; read, if wanted; a share, if wanted
    Follow,  // parameters, when the slowest worker has advanced; of a round its lost pieces
    EndOfEpochTask,  // at an epoch's end: what is to be done, and what was
    LostPushQuery,   // of a lost worker: how many of its pushes came here?
    Snapshot,        // parameters and slots, as they are
    Sums,            // of squares, that it has measured for an update (server_norms.cc)
  };
  std::uint64_t number = 0;  // of whoever asks, in all its lives: gradient and answer have the same
  Incarnation asker;         // its life
  Kind kind = Kind::Train;
  std::uint32_t shard = 0;
  Generation directory;     // by which this node was found
  NodeId worker = kNobody;  // whom it is about
  Incarnation life;
  std::uint32_t wants_read = 0;
  std::uint32_t wants_slots = 0;
  std::uint32_t stops = 0;        // an Ending: nothing more shall be dealt
  std::uint64_t clock = 0;        // steps in its pushes before this one
  std::uint64_t steps = 1;        // in this one
  std::uint64_t based_on = 0;     // the version that the gradient was computed at
  std::uint64_t version = 0;      // Sums: that the update comes to
  std::uint64_t samples = 0;      // of which the gradient is the sum
  std::uint64_t wants_share = 0;  // samples for each member of its group, at most
  std::uint64_t share = 0;        // its number: the clock of the step that it is for
  std::uint64_t settled = 0;      // shares of this worker that all shards have
  // Of a task, and when it enters.
  std::uint64_t epoch = 0;  // whose end it is; Enter: it has seen the ends of those before
  std::uint32_t done = 0;   // a EndOfEpochTask
  std::uint32_t block = 0;  // Sums: the round
  Score score{};

  // How the gradient comes.
  enum class Form : std::uint32_t {
    Plain,
    Factored,  // factored.h
    Part,      // part.h
    Encoded,   // encoded/message.h
    Nothing,   // it is 0, and does not come
  };
  Form form = Form::Plain;
  // Of a round (scheduler.h) the gradient is the sum of these logical shards, a subtree, and
  // `samples` are those of the whole round. Follow: `block` pieces of round `share` are known to be
  // lost.
  std::uint32_t from = 0, to = 0;
  Share round{};

  // Whether something of the worker's own comes with it: a gradient, or the rest of its state.
  bool brings() const { return (samples > 0 && form != Form::Nothing) || brings_rest != 0; }
  std::uint32_t brings_rest = 0;
};

struct Answer {
  enum class Kind : std::uint32_t {
    Fine,
    NotHere,
    Over,
    KeysUnknown,  // of a part: nothing was done; the same again, with them
  };
  Kind kind = Kind::Fine;
  std::uint32_t has_parameters = 0;
  std::uint32_t has_rest = 0;
  std::uint32_t has_news = 0;
  std::uint32_t encoded = 0;    // the parameters are
  std::uint64_t clock = 0;      // of the worker here
  std::uint64_t version = 0;    // of the parameters
  std::uint64_t least = 0;      // all workers' steps up to this clock are in them
  std::uint64_t staleness = 0;  // of the push
  Share share{};
  // Of a round (scheduler.h), whose number is `clock`: the shards of the share, and all samples.
  // Follow: those of a piece that was lost, the one of number `block`, from 1 on.
  std::uint32_t from = 0, to = 0;
  Share round{};
  // Of a task: what is to be done now.
  std::uint32_t task = 0;  // a EndOfEpochTask
  std::uint32_t block = 0;
  std::uint64_t epoch = 0;  // Over: whose end it is; else: ends of as many are past
  std::uint64_t ended = 0;  // samples, of all workers
  Score score{};            // of all that was held out, of the last epoch that is past
};

// A change of a shard, as its copies make it too.
struct Record {
  enum class Kind : std::uint32_t {
    Enter,     // a worker is new here, or back, with a clock
    Leave,     // it is away
    Push,      // its gradient waits with others for the next update, or is it
    Reject,    // a gradient that came too late
    Complete,  // those that wait are the next update; its norms come along where there are some
    Deal,      // a share of samples, or a round with its pieces
    Lose,      // the shares of a worker that is gone
    Score,     // of a block
    Rest,      // of the state, as one worker has it
    Saved,     // the state, after an epoch
    Stop,      // nothing more is dealt
    Whole,     // everything: parameters, slots, and the rest as words
  };
  std::uint64_t sequence = 0;
  Incarnation sender;  // its life
  Kind kind = Kind::Enter;
  std::uint32_t complete = 0;  // Push: and those that wait are the next update
  Generation directory;
  NodeId worker = kNobody;
  Incarnation life;
  std::uint32_t end = 0;    // Lose: a SampleEnd; Stop: an Ending; Deal: 1, as a worker tells it
  std::uint64_t clock = 0;  // after the push; Deal: before it; Lose: shares below came somewhere
  std::uint64_t based_on = 0;
  std::uint64_t samples = 0;             // Deal: words that come along, of a round
  std::uint32_t from = 0, to = 0;        // Push: the logical shards, where there are some
  double weight = 1;                     // of the gradient
  double change = 0;                     // of a parameter by it, at most, where that is asked for
  std::uint64_t n = 0;                   // Deal: samples; Score: the block; Whole: words
  std::uint64_t share = 0, settled = 0;  // Deal, Leave
  std::uint64_t version = 0;  // Whole, or after the update; Score, Rest, Saved: the epoch
  Score score{};
};

}  // namespace shoal
