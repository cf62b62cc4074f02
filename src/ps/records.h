// Records: the changes of a shard, a struct for each kind. The head makes them; every holder
// applies the same records, in order (shard_state.h). What belongs to a record follows it as
// ranges.
#pragma once

#include <cstdint>
#include <variant>

#include "base/types.h"
#include "collective/fixed_tree.h"
#include "data/ledger.h"
#include "learner/learner.h"
#include "ps/message_list.h"
#include "ps/sample_scheduler.h"
#include "runtime/view.h"

namespace shoal {

struct RecordHeader {
  std::uint32_t kind = 0;
  std::uint32_t parts = 0;  // ranges that follow
  std::uint64_t sequence = 0;
  Incarnation sender;  // its life
  Generation directory;
};
static_assert(kLaidOut<RecordHeader, 24>);

// ---- Workers

// A worker is new here, or back.
struct EnterRecord {
  RecordHeader header;
  NodeId worker;
  Incarnation life;
  std::uint64_t clock = 0;
};
static_assert(kLaidOut<EnterRecord, 40>);

struct LeaveRecord {
  RecordHeader header;
  NodeId worker;
  Incarnation life;
  std::uint64_t settled = 0;  // its shares below this one are in the parameters of all shards
};
static_assert(kLaidOut<LeaveRecord, 40>);

// Its shares below `reached` ended so; the others, and its piece of a round, are lost.
struct LoseRecord {
  RecordHeader header;
  NodeId worker;
  Incarnation life;
  std::uint64_t reached = 0;
  SampleEnd end = SampleEnd::Applied;
};
static_assert(kLaidOut<LoseRecord, 48>);

// ---- Gradients

// A gradient, which follows: it waits for the next update, or completes it.
struct PushRecord {
  RecordHeader header;
  NodeId worker;
  Incarnation life;
  std::uint64_t clock = 0;  // after it
  std::uint64_t based_on = 0;
  std::uint64_t samples = 0;
  std::uint64_t version = 0;  // of the shard, if it completes the update
  double weight = 1;
  double change = 0;  // the maximum of any parameter, if the consistency needs it
  Subtree of{};       // logical shards, in a round
  std::uint64_t completes = 0;
};
static_assert(kLaidOut<PushRecord, 96>);

// A gradient that arrived too late.
struct RejectRecord {
  RecordHeader header;
  NodeId worker;
  Incarnation life;
  std::uint64_t clock = 0;
};
static_assert(kLaidOut<RejectRecord, 40>);

// The pushes that wait are the next update. Its sums of squares follow where it needs them.
struct CompleteRecord {
  RecordHeader header;
  std::uint64_t version = 0;
};
static_assert(kLaidOut<CompleteRecord, 32>);

// ---- Samples

struct DealRecord {
  RecordHeader header;
  Wish wish{};
};
static_assert(kLaidOut<DealRecord, 64>);

// A round, or lost pieces of it for other workers. The pieces follow.
struct DealRoundRecord {
  RecordHeader header;
  std::uint64_t number = 0;
  std::uint64_t n = 0;  // samples
};
static_assert(kLaidOut<DealRoundRecord, 40>);

// A round that was dealt before the scheduler was loaded. The pieces follow.
struct RecallRoundRecord {
  RecordHeader header;
  Round round{};
};
static_assert(kLaidOut<RecallRoundRecord, 56>);

struct StopRecord {
  RecordHeader header;
  Ending how = Ending::No;
};
static_assert(kLaidOut<StopRecord, 32>);

// ---- At an epoch's end

struct ScoreRecord {
  RecordHeader header;
  std::uint64_t epoch = 0;
  std::uint64_t block = 0;
  Score score{};
};
static_assert(kLaidOut<ScoreRecord, 72>);

// The model's buffers, which follow.
struct BuffersRecord {
  RecordHeader header;
  std::uint64_t epoch = 0;
};
static_assert(kLaidOut<BuffersRecord, 32>);

struct SavedRecord {
  RecordHeader header;
  std::uint64_t epoch = 0;
};
static_assert(kLaidOut<SavedRecord, 32>);

// ---- Everything

// For a new holder. Parameters, slots, the other state as words, and the pushes that wait follow.
struct WholeRecord {
  RecordHeader header;
  std::uint64_t version = 0;
};
static_assert(kLaidOut<WholeRecord, 32>);

using AnyRecord = std::variant<EnterRecord, LeaveRecord, LoseRecord, PushRecord, RejectRecord,
                               CompleteRecord, DealRecord, DealRoundRecord, RecallRoundRecord,
                               StopRecord, ScoreRecord, BuffersRecord, SavedRecord, WholeRecord>;
using RecordFrame = MessageFrame<AnyRecord, 152>;  // as RequestFrame

}  // namespace shoal
