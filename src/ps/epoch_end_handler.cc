#include "ps/epoch_end_handler.h"

#include <memory>
#include <utility>
#include <vector>

#include "ps/epoch_summary.h"
#include "ps/sample_scheduler.h"

namespace shoal {

// REQUIRES: the caller has the turn, and this node is the head.
void EpochEndHandler::record_done(HostedShard& shard, const EndOfEpochRequest& request,
                                  std::optional<Gradient> buffers) {
  switch (request.done) {
    case EndOfEpochTask::SendBuffers:
      return chain_.commit(shard, BuffersRecord{{}, request.epoch}, std::move(buffers));
    case EndOfEpochTask::Save: return chain_.commit(shard, SavedRecord{{}, request.epoch});
    case EndOfEpochTask::Evaluate:
      return chain_.commit(shard, ScoreRecord{{}, request.epoch, request.block, request.score});
    case EndOfEpochTask::None:
    case EndOfEpochTask::Continue:
    case EndOfEpochTask::Finish: return;
  }
}

std::optional<std::uint32_t> EpochEndHandler::free_block(const HostedShard& shard,
                                                         EndOfEpochTask task) {
  std::erase_if(workers_, [&](const auto& w) { return !server_.present(w.second); });
  const auto& scores = shard.scheduler()->epoch_end().scores();
  const bool evaluates = task == EndOfEpochTask::Evaluate;
  const auto blocks = static_cast<std::uint32_t>(evaluates ? scores.size() : 1);
  for (std::uint32_t block = 0; block < blocks; ++block)
    if (!workers_.contains(block) && !(evaluates && scores[block].has_value())) return block;
  return {};
}

// A worker without a task waits for those that have one.
Task<void> EpochEndHandler::answer(NodeId from, EndOfEpochRequest request,
                                   std::optional<Gradient> buffers) {
  HostedShard& shard = server_.shards[request.header.shard];
  {
    const HostedShard::Turn mine = co_await shard.turn();
    if (server_.is_head(shard)) record_done(shard, request, std::move(buffers));
  }
  std::erase_if(workers_, [&](const auto& w) { return w.second.node == from; });
  EndOfEpochAnswer answer;
  Payload payload;
  while (server_.is_head(shard)) {
    const SampleScheduler& scheduler = *shard.scheduler();
    const EndOfEpochTask task = scheduler.task(request.epoch);
    const bool work = task != EndOfEpochTask::Continue && task != EndOfEpochTask::Finish;
    const std::optional<std::uint32_t> block = free_block(shard, task);
    if (!work || block) {
      if (work) workers_[*block] = {from, request.header.life};
      answer.task = task;
      answer.block = work ? *block : 0;
      answer.epochs = scheduler.past();
      answer.score = scheduler.epoch_end().total();
      answer.version = shard.state->version();
      if (task != EndOfEpochTask::SendBuffers) payload.buffers = shard.state->buffers();
      const EpochSummary summary{scheduler.place(), shard.state->staleness()};
      if (task != EndOfEpochTask::Evaluate)
        payload.words = std::make_shared<const std::vector<std::uint64_t>>(to_words(summary));
      co_await chain_.until_acknowledged(shard);
      break;
    }
    co_await shard.changed.wait();
  }
  co_await answers_.reply_as_head(from, request, answer, std::move(payload));
}

Task<void> EpochEndHandler::answer(NodeId from, SnapshotRequest request) {
  HostedShard& shard = server_.shards[request.header.shard];
  // The slots change in place: nothing may while they are read.
  const HostedShard::Turn mine = co_await shard.turn();
  SnapshotAnswer answer;
  Payload payload;
  if (server_.is_head(shard)) {
    answer.version = payload.version = shard.state->version();
    payload.parameters = shard.state->parameters();
    payload.exact = true;
    if (request.slots != 0) payload.slots = shard.state->slots();
  }
  co_await answers_.reply_as_head(from, request, answer, std::move(payload));
}

}  // namespace shoal
