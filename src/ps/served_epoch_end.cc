#include "ps/served_epoch_end.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ps/epoch_summary.h"

namespace shoal {

Task<ServedEpochEnd::Past> ServedEpochEnd::attend(std::uint64_t epoch) {
  Replica& replica = worker_.replica;
  const Time begin = worker_.node.env.now();
  const ServedContext::Visit reads = [this](std::uint32_t k) { return snapshot(k); };
  co_await worker_.at_all_shards(reads);
  EndOfEpochRequest request;
  request.epoch = epoch;
  Client::Room here;
  here.buffers = replica.buffers();
  std::vector<std::uint64_t> words;
  here.words = &words;
  while (true) {
    const EndOfEpochAnswer answer = co_await worker_.client.call(request, replica.buffers(), here);
    request.done = answer.task;
    request.block = answer.block;
    if (answer.task == EndOfEpochTask::SendBuffers) continue;
    if (answer.task == EndOfEpochTask::Evaluate) {
      request.score = co_await evaluate(answer.block);
      continue;
    }
    const EpochSummary summary = summary_from(words);
    replica.restore({Step(answer.version), replica.lineage, summary.place});
    if (answer.task == EndOfEpochTask::Save) {
      co_await save();
      continue;
    }
    const Past past{answer.epochs, answer.task == EndOfEpochTask::Finish};
    // For epochs that ended without this worker, only the score of the last one is known.
    const bool known = answer.epochs == epoch + 1;
    // Parameters read at its beginning may belong to earlier epochs.
    if (past.last && !known) co_await worker_.at_all_shards(reads);
    EvaluationReport report{Step(answer.version), epoch + 1, answer.score, {}};
    report.took = worker_.node.env.now() - begin;
    if (worker_.journal == nullptr) co_return past;
    worker_.journal->measured(summary.staleness);
    if (worker_.task.evaluate && known && report.total.samples > 0)
      co_await worker_.journal->evaluated(report);
    co_return past;
  }
}

Task<void> ServedEpochEnd::snapshot(std::uint32_t shard) {
  const Client::Room here{.w = worker_.of(worker_.replica.parameters(), shard)};
  SnapshotRequest request;
  request.header.shard = shard;
  const SnapshotAnswer answer = co_await worker_.client.call(request, here);
  parameters_.took_snapshot(shard, answer.version);
}

Task<Score> ServedEpochEnd::evaluate(std::uint32_t block) {
  const std::uint64_t n = worker_.learner.held_out();
  const std::uint64_t from = n * block / kBlocks;
  const std::uint64_t to = n * (block + 1) / kBlocks;
  if (from == to) co_return Score();
  co_return co_await worker_.learner.evaluate(worker_.node.env, worker_.replica.w(), from, to);
}

// With the optimizer's slots, shard by shard.
Task<void> ServedEpochEnd::save() {
  Node& node = worker_.node;
  Replica& replica = worker_.replica;
  const unsigned each = slots(worker_.task.rule);
  Arena part(node.endpoint, worker_.cuts[0].n * each, worker_.learner.substance());
  for (std::uint32_t k = 0; k < worker_.cuts.size() && each > 0; ++k) {
    const ShardCut& cut = worker_.cuts[k];
    Client::Room here;
    here.w = worker_.of(replica.parameters(), k);
    here.slots = part.range(Elements(0), cut.n * each);
    SnapshotRequest request;
    request.header.shard = k;
    request.slots = 1;
    co_await worker_.client.call(request, here);
    co_await node.env.work(Work::Copy, here.slots.n, [&] {
      for (unsigned s = 0; s < each && !here.slots.data().empty(); ++s)
        std::ranges::copy(here.slots.slice(cut.n * s, cut.n).data(),
                          replica.slots().slice(replica.N * s + cut.at, cut.n).data().begin());
    });
  }
  worker_.learner.pause();
  co_await checkpoints_.save(replica);
  if (worker_.journal != nullptr) worker_.journal->saved(replica.step);
}

}  // namespace shoal
