#include "train/folder_checkpoint_store.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "base/error.h"
#include "base/parse.h"
#include "checkpoint/model_file.h"

namespace shoal {
namespace {

constexpr const char* kProgressPart = "progress";
constexpr const char* kProgressBegin = "shoal-progress 2";
constexpr const char* kOptimizerPart = "optimizer.safetensors";
constexpr std::string_view kWorkerPart = "worker-";
constexpr std::string_view kWorkerPartEnd = ".safetensors";

// "step 120" and so on, one per line; then the terms.
std::string to_text(const Progress& p, const std::vector<std::string>& terms) {
  std::string text = fmt::format("{}\nstep {}\nlineage {}\nepoch {}\n", kProgressBegin, p.step,
                                 p.lineage.value(), p.ledger.epoch);
  for (const std::uint64_t n : p.ledger.past) text += fmt::format("past {}\n", n);
  text += fmt::format("spans {}\n", p.ledger.ended.size());
  for (const LedgerPlace::Ended& e : p.ledger.ended)
    text += fmt::format("at {}\ncount {}\nend {}\n", e.at, e.n, static_cast<unsigned>(e.end));
  for (const std::string& term : terms) text += term + "\n";
  return text;
}

struct Lines {
  std::string_view text;
  std::string_view next() {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
  }
};

std::uint64_t number_of(std::string_view line, std::string_view key, Step step) {
  if (line.starts_with(key) && line.size() > key.size() + 1) {
    const auto n = parse_number<std::uint64_t>(line.substr(key.size() + 1));
    if (n) return *n;
  }
  throw DataError(fmt::format(
      "checkpoint of step {}: found '{}' instead of '{} NUMBER'; was it written by another "
      "version?",
      step, line, key));
}

Progress parse_progress(std::string_view text, Step step, const std::vector<std::string>& terms) {
  Lines lines{text};
  if (const std::string_view first = lines.next(); first != kProgressBegin)
    throw DataError(fmt::format(
        "checkpoint of step {}: its progress begins with '{}'; was it written by another version?",
        step, first.substr(0, 40)));
  Progress p;
  p.step = Step(number_of(lines.next(), "step", step));
  p.lineage = Generation(static_cast<std::uint32_t>(number_of(lines.next(), "lineage", step)));
  p.ledger.epoch = number_of(lines.next(), "epoch", step);
  for (std::uint64_t& n : p.ledger.past) n = number_of(lines.next(), "past", step);
  for (std::uint64_t left = number_of(lines.next(), "spans", step); left > 0; --left) {
    LedgerPlace::Ended e;
    e.at = number_of(lines.next(), "at", step);
    e.n = number_of(lines.next(), "count", step);
    const std::uint64_t end = number_of(lines.next(), "end", step);
    if (end >= kSampleEnds)
      throw DataError(fmt::format("checkpoint of step {}: {} is not an end of samples", step, end));
    e.end = static_cast<SampleEnd>(end);
    p.ledger.ended.push_back(e);
  }
  for (const std::string& term : terms) {
    const std::string_view kept = lines.next();
    if (kept != term)
      throw ConfigError(
          fmt::format("checkpoint of step {}: it was made with '{}', this run has '{}'\n"
                      "Hint: resume with the same settings, or start a new run in another folder",
                      step, kept, term));
  }
  return p;
}

// A file for each worker with a state of its own. The headers go into `headers`.
std::vector<SnapshotPart> worker_parts(const std::vector<KeptArray>& kept,
                                       std::deque<std::string>& headers) {
  std::vector<SnapshotPart> parts;
  for (auto one = kept.begin(); one != kept.end();) {
    const auto next =
        std::find_if(one, kept.end(), [&](const KeptArray& k) { return k.node != one->node; });
    SnapshotPart part;
    part.name = fmt::format("{}{}{}", kWorkerPart, one->node, kWorkerPartEnd);
    std::vector<TensorInfo> infos;
    for (auto array = one; array != next; ++array)
      infos.push_back({array->name,
                       Dtype::F32,
                       {static_cast<std::int64_t>(array->numbers.size.value() / sizeof(float))}});
    headers.push_back(safetensors_header(infos, {}));
    part.pieces.push_back(const_buf(std::span<const char>(headers.back())));
    for (; one != next; ++one) part.pieces.push_back(one->numbers);
    parts.push_back(std::move(part));
  }
  return parts;
}

std::optional<NodeId> worker_of(std::string_view part) {
  if (!part.starts_with(kWorkerPart) || !part.ends_with(kWorkerPartEnd)) return std::nullopt;
  part.remove_prefix(kWorkerPart.size());
  part.remove_suffix(kWorkerPartEnd.size());
  const auto node = parse_number<std::uint32_t>(part);
  return node ? std::optional(NodeId(*node)) : std::nullopt;
}

std::vector<KeptArray> kept_of(Snapshot& snapshot, const std::string& folder) {
  std::vector<KeptArray> kept;
  for (Snapshot::Part& part : snapshot.parts) {
    const std::optional<NodeId> node = worker_of(part.name);
    if (!node) continue;
    const auto file = std::make_shared<const std::vector<std::byte>>(std::move(part.content));
    const SafetensorsView view = parse_safetensors(*file, folder + part.name);
    for (const SafeTensor& t : view.tensors)
      kept.push_back({*node, t.info.name, const_buf(t.data), file});
  }
  return kept;
}

const std::vector<std::byte>& part_of(const Snapshot& snapshot, const char* name) {
  const std::vector<std::byte>* const part = snapshot.part(name);
  if (part == nullptr)
    throw DataError(fmt::format(
        "checkpoint of step {}: part '{}' is missing; was it written by another version, or with "
        "another optimizer?",
        snapshot.step, name));
  return *part;
}

}  // namespace

Layout layout_of_slots(const Layout& layout, std::uint64_t slots) {
  std::vector<TensorEntry> entries;
  for (std::uint64_t k = 0; k < slots; ++k) {
    for (const TensorEntry& t : layout.parameter_tensors()) {
      entries.push_back(t);
      entries.back().name = fmt::format("{}.{}", k, t.name);
    }
  }
  return Layout(std::move(entries));
}

FolderCheckpointStore::FolderCheckpointStore(Node& node, std::string folder, const Layout& layout,
                                             std::vector<std::string> terms)
    : node_(node),
      store_(node.env, node.files,
             SnapshotOptions{.folder = std::move(folder),
                             .writer = fmt::format("node{}.{}", node.id, node.incarnation)}),
      layout_(layout),
      terms_(std::move(terms)) {}

Task<void> FolderCheckpointStore::save(Replica& replica) {
  const std::string progress = to_text(replica.progress(), terms_);
  SafetensorsMetadata metadata;
  metadata["step"] = std::to_string(replica.step.value());
  const ModelFile model =
      co_await model_file(node_.env, layout_, replica.w().bytes(), std::move(metadata));
  std::vector<SnapshotPart> parts;
  parts.push_back(SnapshotPart{kModelFile, model.pieces});
  ModelFile optimizer;
  const Range state = replica.slots();
  if (state.n > Elements(0)) {
    const Layout slots = layout_of_slots(layout_, state.n / layout_.parameters());
    optimizer = co_await model_file(node_.env, slots, state.bytes(), SafetensorsMetadata());
    parts.push_back(SnapshotPart{kOptimizerPart, optimizer.pieces});
  }
  std::deque<std::string> headers;
  std::ranges::move(worker_parts(replica.kept, headers), std::back_inserter(parts));
  std::vector<ConstBuf> text{const_buf(std::span<const char>(progress))};
  parts.push_back(SnapshotPart{kProgressPart, std::move(text)});
  co_await store_.write(replica.step, std::move(parts));
}

Task<bool> FolderCheckpointStore::load(Replica& replica) {
  Restored restored = co_await store_.read_latest();
  warnings_ = std::move(restored.warnings);
  if (!warnings_.empty()) node_.env.probe("checkpoints: a broken checkpoint was passed over");
  if (!restored.snapshot && !warnings_.empty())
    throw DataError(fmt::format(
        "all checkpoints are broken, the last one: {}\n"
        "Hint: restore one from a copy, or remove the folder `checkpoint` to start again",
        warnings_.back()));
  if (!restored.snapshot) co_return false;
  Snapshot& snapshot = *restored.snapshot;
  const std::vector<std::byte>& text = part_of(snapshot, kProgressPart);
  const Progress progress = parse_progress(
      {reinterpret_cast<const char*>(text.data()), text.size()}, snapshot.step, terms_);
  const std::string file = fmt::format("checkpoint/step-{}/", snapshot.step);
  co_await load_model(node_.env, layout_, part_of(snapshot, kModelFile), file + kModelFile,
                      replica.w().bytes());
  const Range state = replica.slots();
  if (state.n > Elements(0)) {
    const Layout slots = layout_of_slots(layout_, state.n / layout_.parameters());
    co_await load_model(node_.env, slots, part_of(snapshot, kOptimizerPart), file + kOptimizerPart,
                        state.bytes());
  }
  replica.kept = kept_of(snapshot, file);
  replica.restore(progress);
  co_return true;
}

}  // namespace shoal
