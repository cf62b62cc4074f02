#include "train/snapshot_keeper.h"

#include <array>
#include <cstring>

#include "base/error.h"

namespace shoal {
namespace {

constexpr const char* kProgressPart = "progress";
constexpr const char* kParametersPart = "parameters";

// step, lineage, epoch, place in the epoch
using ProgressWords = std::array<std::uint64_t, 4>;

ProgressWords to_words(const Progress& p) {
  return {p.step.value(), p.lineage.value(), p.ledger.epoch, p.ledger.at};
}
Progress from_words(const ProgressWords& w) {
  return {Step(w[0]), Generation(static_cast<std::uint32_t>(w[1])), LedgerPlace{w[2], w[3]}};
}

}  // namespace

SnapshotKeeper::SnapshotKeeper(Node& node, std::string folder)
    : node_(node),
      store_(node.env, node.files,
             SnapshotOptions{.folder = std::move(folder),
                             .writer = fmt::format("node{}.{}", node.id, node.incarnation)}) {}

Task<void> SnapshotKeeper::save(const Replica& replica) {
  const ProgressWords words = to_words(replica.progress());
  std::vector<SnapshotPart> parts;
  parts.push_back(SnapshotPart{kProgressPart, const_buf(words)});
  parts.push_back(SnapshotPart{kParametersPart, replica.w.bytes()});
  co_await store_.write(replica.step, std::move(parts));
}

Task<bool> SnapshotKeeper::load(Replica& replica) {
  Restored restored = co_await store_.read_latest();
  warnings_ = std::move(restored.warnings);
  if (!warnings_.empty()) node_.env.probe("keeper: a broken checkpoint was passed over");
  if (!restored.snapshot) co_return false;
  const std::vector<std::byte>* progress = restored.snapshot->part(kProgressPart);
  const std::vector<std::byte>* parameters = restored.snapshot->part(kParametersPart);
  const MutBuf w = replica.w.all().bytes();
  if (progress == nullptr || progress->size() != sizeof(ProgressWords))
    throw DataError(
        fmt::format("checkpoint of step {}: part '{}' is missing or of another size; "
                    "was it written by another version?",
                    restored.snapshot->step, kProgressPart));
  if (parameters == nullptr || Bytes(parameters->size()) != w.size)
    throw DataError(fmt::format(
        "checkpoint of step {}: {} bytes of parameters, this model has {}; "
        "is it a checkpoint of another model?",
        restored.snapshot->step, parameters == nullptr ? 0 : parameters->size(), w.size));
  ProgressWords words{};
  std::memcpy(words.data(), progress->data(), sizeof words);
  co_await node_.env.work(Work::Copy, replica.w.size(), [&] {
    copy(ConstBuf{parameters->data(), Bytes(parameters->size())}, w);
  });
  replica.restore(from_words(words));
  co_return true;
}

}  // namespace shoal
