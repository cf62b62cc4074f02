// Requests to the head of a shard, and their answers: a struct for each kind. A worker enters,
// trains, follows and leaves; at an epoch's end it asks for tasks; servers ask each other for sums,
// and for the progress of a lost worker.
#pragma once

#include <cstdint>
#include <variant>

#include "base/types.h"
#include "collective/fixed_tree.h"
#include "data/ledger.h"
#include "learner/learner.h"
#include "ps/dealt_round.h"
#include "ps/epoch_end.h"
#include "ps/message_list.h"
#include "runtime/view.h"

namespace shoal {

struct RequestHeader {
  std::uint32_t kind = 0;
  std::uint32_t shard = 0;
  std::uint64_t number = 0;  // of the sender, in all its lives: what belongs to it has the same
  Incarnation life;          // of the sender
  Generation directory;      // by which the sender found the head
};
static_assert(kLaidOut<RequestHeader, 24>);

enum class RequestOutcome : std::uint32_t {
  Done,
  NotHere,      // this node is not the head
  KeysUnknown,  // of a pushed part (pushed_part.h): send it again, with its keys
};
// The ranges that follow the answer: 1 or 0.
struct AnswerHeader {
  std::uint32_t kind = 0;
  RequestOutcome outcome = RequestOutcome::Done;
  std::uint8_t parameters = 0;
  std::uint8_t encoded = 0;  // the parameters are
  std::uint8_t buffers = 0;
  std::uint8_t words = 0;
  std::uint32_t unused = 0;
};
static_assert(kLaidOut<AnswerHeader, 16>);

// ---- A worker comes and goes

// Enters at the first shard as soon as there are samples, and gets a clock.
struct EnterAnswer {
  AnswerHeader header;
  std::uint64_t clock = 0;
  std::uint64_t epoch = 0;  // over: that ends now; else: ends of so many are past
  std::uint64_t ended = 0;  // samples, of all workers
  std::uint64_t over = 0;   // 1: the epoch has no more samples
};
struct EnterRequest {
  using Answer = EnterAnswer;
  RequestHeader header;
  std::uint64_t epoch = 0;  // it has seen the ends of epochs before this one
  Ending stops = Ending::No;
};
static_assert(kLaidOut<EnterRequest, 40> && kLaidOut<EnterAnswer, 48>);

// Enters at another shard with that clock; or at the first, if it was loaded without the worker. In
// rounds also: those before the clock were in the parameters of all shards.
struct RegisterAnswer {
  AnswerHeader header;
  std::uint64_t version = 0;
};
struct RegisterRequest {
  using Answer = RegisterAnswer;
  RequestHeader header;
  std::uint64_t clock = 0;
};
static_assert(kLaidOut<RegisterRequest, 32> && kLaidOut<RegisterAnswer, 24>);

// Leaves: there are no samples for it, and no worker shall wait for it.
struct LeaveAnswer {
  AnswerHeader header;
};
struct LeaveRequest {
  using Answer = LeaveAnswer;
  RequestHeader header;
  std::uint64_t settled = 0;  // its shares below this one are in the parameters of all shards
};
static_assert(kLaidOut<LeaveRequest, 32> && kLaidOut<LeaveAnswer, 16>);

// ---- A worker trains

struct GradientForm {
  enum class Kind : std::uint32_t {
    Plain,
    Factored,  // factored.h
    Part,      // pushed_part.h
    Encoded,   // encoded/message.h
    Nothing,   // it is 0, and not sent
  };
  Kind kind = Kind::Plain;

  bool plain() const { return kind == Kind::Plain; }
  bool sent() const { return kind != Kind::Nothing; }
};

// A gradient: the sum over these samples.
struct Push {
  std::uint64_t steps = 1;
  std::uint64_t samples = 0;   // 0: nothing is pushed
  std::uint64_t based_on = 0;  // the version that it was computed at
  GradientForm form{};
  std::uint32_t unused = 0;
};
static_assert(kLaidOut<Push, 32>);

struct WantedShare {
  std::uint64_t n = 0;        // samples for each member of the worker's group; 0: none are wanted
  std::uint64_t number = 0;   // the clock of the step that the share is for
  std::uint64_t settled = 0;  // its shares below this one are in the parameters of all shards
  Ending stops = Ending::No;  // nothing more shall be dealt
};
struct GivenShare {
  Share share{};
  std::uint64_t epoch = 0;  // over: that ends now; else: ends of so many are past
  std::uint64_t ended = 0;  // samples, of all workers
  std::uint64_t over = 0;   // 1: the epoch has no more samples
};
static_assert(kLaidOut<WantedShare, 32> && kLaidOut<GivenShare, 48>);

// The state of parameters that are read.
struct ReadState {
  std::uint64_t version = 0;
  std::uint64_t least = 0;  // all workers' steps up to this clock are in them
};

// Pushes, asks for a share and reads: each only if it is wanted.
struct TrainAnswer {
  AnswerHeader header;
  ReadState read{};
  std::uint64_t staleness = 0;  // of the push
  GivenShare given{};
};
struct TrainRequest {
  using Answer = TrainAnswer;
  RequestHeader header;
  std::uint64_t clock = 0;  // steps in its pushes before this one
  Push push{};
  WantedShare wanted{};
  std::uint64_t reads = 0;
};
static_assert(kLaidOut<TrainRequest, 104> && kLaidOut<TrainAnswer, 88>);

// Asks for the parameters as soon as all workers' steps up to a clock above this one are in them.
// Without parameters: the worker has left.
struct FollowAnswer {
  AnswerHeader header;
  std::uint64_t clock = 0;  // of the worker
  ReadState read{};
};
struct FollowRequest {
  using Answer = FollowAnswer;
  RequestHeader header;
  std::uint64_t clock = 0;
};
static_assert(kLaidOut<FollowRequest, 32> && kLaidOut<FollowAnswer, 40>);

// ---- A worker trains in rounds (dealt_round.h)

// Asks for its piece of the next round.
struct PieceAnswer {
  AnswerHeader header;
  RoundShards piece{};
  GivenShare given{};
};
struct PieceRequest {
  using Answer = PieceAnswer;
  RequestHeader header;
  std::uint64_t clock = 0;
  WantedShare wanted{};  // n: of the whole round
};
static_assert(kLaidOut<PieceRequest, 64> && kLaidOut<PieceAnswer, 104>);

// Pushes the sum of a subtree of logical shards, and reads, if that is wanted.
struct PushSumAnswer {
  AnswerHeader header;
  ReadState read{};
  std::uint64_t staleness = 0;
};
struct PushSumRequest {
  using Answer = PushSumAnswer;
  RequestHeader header;
  Round round{};
  std::uint64_t based_on = 0;
  Subtree of{};
  std::uint64_t reads = 0;
};
static_assert(kLaidOut<PushSumRequest, 80> && kLaidOut<PushSumAnswer, 40>);

// Asks for a lost piece, as soon as there is one that the worker does not know.
struct LostPieceAnswer {
  AnswerHeader header;
  RoundShards piece{};
  std::uint64_t known = 0;  // with this one; 0: there is none, the worker is not in
};
struct LostPieceRequest {
  using Answer = LostPieceAnswer;
  RequestHeader header;
  std::uint64_t round = 0;
  std::uint64_t known = 0;  // lost pieces of the round
};
static_assert(kLaidOut<LostPieceRequest, 40> && kLaidOut<LostPieceAnswer, 64>);

// ---- At an epoch's end, and after a loss

// Reports a task as done, and asks for the next.
struct EndOfEpochAnswer {
  AnswerHeader header;
  EndOfEpochTask task = EndOfEpochTask::None;
  std::uint32_t block = 0;
  std::uint64_t epochs = 0;   // whose ends are past
  std::uint64_t version = 0;  // of the shard
  Score score{};              // of the last epoch that is past
};
struct EndOfEpochRequest {
  using Answer = EndOfEpochAnswer;
  RequestHeader header;
  std::uint64_t epoch = 0;
  EndOfEpochTask done = EndOfEpochTask::None;
  std::uint32_t block = 0;  // Evaluate
  Score score{};            // Evaluate
};
static_assert(kLaidOut<EndOfEpochRequest, 72> && kLaidOut<EndOfEpochAnswer, 72>);

// Asks how many steps of a lost worker's life are in this shard's pushes.
struct LostPushAnswer {
  AnswerHeader header;
  std::uint64_t clock = 0;
};
struct LostPushQuery {
  using Answer = LostPushAnswer;
  RequestHeader header;
  NodeId worker;
  Incarnation life;
};
static_assert(kLaidOut<LostPushQuery, 32> && kLaidOut<LostPushAnswer, 24>);

// Asks for the current parameters and the optimizer's slots.
struct SnapshotAnswer {
  AnswerHeader header;
  std::uint64_t version = 0;
};
struct SnapshotRequest {
  using Answer = SnapshotAnswer;
  RequestHeader header;
  std::uint64_t slots = 0;
};
static_assert(kLaidOut<SnapshotRequest, 32> && kLaidOut<SnapshotAnswer, 24>);

// Asks for the sums of squares that the shard has measured for an update (norm_handler.h).
struct SumsAnswer {
  AnswerHeader header;
};
struct SumsRequest {
  using Answer = SumsAnswer;
  RequestHeader header;
  std::uint64_t version = 0;  // that the update comes to
  std::uint64_t round = 0;
};
static_assert(kLaidOut<SumsRequest, 40> && kLaidOut<SumsAnswer, 16>);

// ---- All of them

using AnyRequest = std::variant<EnterRequest, RegisterRequest, LeaveRequest, TrainRequest,
                                FollowRequest, PieceRequest, PushSumRequest, LostPieceRequest,
                                EndOfEpochRequest, LostPushQuery, SnapshotRequest, SumsRequest>;
using AnyAnswer = std::variant<EnterAnswer, RegisterAnswer, LeaveAnswer, TrainAnswer, FollowAnswer,
                               PieceAnswer, PushSumAnswer, LostPieceAnswer, EndOfEpochAnswer,
                               LostPushAnswer, SnapshotAnswer, SumsAnswer>;

// One size for all requests, so that a receiver knows it. Simulated times, and so the order of
// asynchronous updates, depend on it.
using RequestFrame = MessageFrame<AnyRequest, 208>;
using AnswerFrame = MessageFrame<AnyAnswer, 168>;

// The range that follows a request.
struct Attachment {
  bool gradient = false;  // in this form
  GradientForm form{};
  bool buffers = false;

  bool sent() const { return (gradient && form.sent()) || buffers; }
};
Attachment attachment_of(const AnyRequest& request);

}  // namespace shoal
