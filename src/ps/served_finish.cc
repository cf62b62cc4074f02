// Half of a worker with servers: what it does at an epoch's end, when the parameters stand still.
#include <algorithm>
#include <utility>

#include "ps/epoch_summary.h"
#include "ps/served_worker.h"

namespace shoal {

Task<void> ServedWorker::end_epoch() {
  const Time begin = node_.env.now();
  const Visit reads = [this](std::uint32_t k) { return snapshot(k); };
  co_await at_all_shards(reads);
  EndOfEpochRequest request;
  request.epoch = epoch_;
  Client::Room here;
  here.buffers = replica_.buffers();
  std::vector<std::uint64_t> words;
  here.words = &words;
  while (true) {
    const EndOfEpochAnswer answer = co_await client_.call(request, replica_.buffers(), here);
    const EndOfEpochTask task = answer.task;
    request.done = task;
    request.block = answer.block;
    if (task == EndOfEpochTask::SendBuffers) continue;
    if (task == EndOfEpochTask::Evaluate) {
      request.score = co_await evaluate(answer.block);
      continue;
    }
    const EpochSummary summary = summary_from(words);
    replica_.restore({Step(answer.version), replica_.lineage, summary.place});
    if (task == EndOfEpochTask::Save) {
      co_await save();
      continue;
    }
    end_ = task == EndOfEpochTask::Finish;
    over_ = false;
    share_ = Share();
    // Of an epoch that others have ended without this worker only the last one's score is known.
    const bool known = answer.epochs == epoch_ + 1;
    // What was read at its beginning may be of the epochs before.
    if (end_ && !known) co_await at_all_shards(reads);
    EvaluationReport report{Step(answer.version), epoch_ + 1, answer.score, {}};
    report.took = node_.env.now() - begin;
    epoch_ = answer.epochs;
    if (journal_ == nullptr) co_return;
    journal_->measured(summary.staleness);
    if (options_.evaluate && known && report.total.samples > 0)
      co_await journal_->evaluated(report);
    co_return;
  }
}

Task<void> ServedWorker::snapshot(std::uint32_t shard) {
  const Client::Room here{.w = of(replica_.parameters(), shard)};
  SnapshotRequest request;
  request.header.shard = shard;
  const SnapshotAnswer answer = co_await client_.call(request, here);
  had_[shard].version = answer.version;
}

Task<Score> ServedWorker::evaluate(std::uint32_t block) {
  const std::uint64_t n = learner_.held_out();
  const std::uint64_t from = n * block / kBlocks;
  const std::uint64_t to = n * (block + 1) / kBlocks;
  if (from == to) co_return Score();
  co_return co_await learner_.evaluate(node_.env, replica_.w(), from, to);
}

Task<void> ServedWorker::save() {
  const unsigned each = slots(options_.rule);
  Arena part(node_.endpoint, cuts_[0].n * each, learner_.substance());
  for (std::uint32_t k = 0; k < cuts_.size() && each > 0; ++k) {
    const ShardCut& cut = cuts_[k];
    Client::Room here;
    here.w = of(replica_.parameters(), k);
    here.slots = part.range(Elements(0), cut.n * each);
    SnapshotRequest request;
    request.header.shard = k;
    request.slots = 1;
    co_await client_.call(request, here);
    co_await node_.env.work(Work::Copy, here.slots.n, [&] {
      for (unsigned s = 0; s < each && !here.slots.data().empty(); ++s)
        std::ranges::copy(here.slots.slice(cut.n * s, cut.n).data(),
                          replica_.slots().slice(replica_.N * s + cut.at, cut.n).data().begin());
    });
  }
  learner_.pause();
  co_await checkpoints_.save(replica_);
  if (journal_ != nullptr) journal_->saved(replica_.step);
}

}  // namespace shoal
