#include <algorithm>
#include <utility>

#include "base/error.h"
#include "checkpoint/manifest.h"
#include "checkpoint/sha256.h"
#include "checkpoint/snapshot.h"
#include "checkpoint/snapshot_names.h"

namespace shoal {
namespace {

// Digests are computed in slices, like every long loop, so that heartbeats continue.
constexpr std::uint64_t kSliceBytes = 256 * 1024;

}  // namespace

const std::vector<std::byte>* Snapshot::part(std::string_view name) const {
  const auto found = std::ranges::find(parts, name, &Part::name);
  return found == parts.end() ? nullptr : &found->content;
}

Task<Restored> SnapshotStore::read_latest() {
  Restored restored;
  restored.snapshot = co_await newest_good(Step(0), restored.warnings);
  const bool pointed = co_await exists(std::string(kLatestName));
  if (!pointed) {
    // The writer of the first snapshot may have died before it wrote `latest`, which is no error.
    const std::vector<std::string> names = co_await files_.list(options_.folder);
    if (published_steps(names).size() <= 1) co_return restored;
  }

  const std::optional<Step> latest = co_await read_pointer(restored.warnings);
  if (!latest) {
    if (restored.snapshot)
      restored.warnings.push_back(fmt::format("took the newest good folder instead: {}",
                                              step_name(restored.snapshot->step)));
  } else if (!restored.snapshot || *latest > restored.snapshot->step) {
    // Checked only now: a writer may have published it after we listed the folders.
    const bool there = co_await exists(step_name(*latest));
    if (!there)
      restored.warnings.push_back(
          fmt::format("{} names {}, which is missing", in_folder(kLatestName), step_name(*latest)));
  }
  co_return restored;
}

// Tries the published snapshots from the newest on. Lists the folder each time, because writers may
// publish and remove others meanwhile.
Task<std::optional<Snapshot>> SnapshotStore::newest_good(Step at_least,
                                                         std::vector<std::string>& warnings) {
  std::set<Step> tried;
  for (;;) {
    const std::vector<std::string> names = co_await files_.list(options_.folder);
    std::vector<Step> steps = published_steps(names);
    std::erase_if(steps, [&](Step step) { return step < at_least || tried.contains(step); });
    if (steps.empty()) co_return std::nullopt;

    const Step step = steps.front();
    tried.insert(step);
    std::string why;
    try {
      std::optional<Snapshot> snapshot(co_await load(step));
      co_return snapshot;
    } catch (const Corrupt& corrupt) {
      why = corrupt.what();
    } catch (const DataError& unreadable) {
      why = unreadable.what();
    }
    const bool still_there = co_await exists(step_name(step));
    if (!still_there) continue;  // a writer removed it because it was old, not broken
    broken_.insert(step);
    warnings.push_back(fmt::format("snapshot {} cannot be used: {}. Looking for an older one",
                                   in_folder(step_name(step)), why));
  }
}

Task<Snapshot> SnapshotStore::load(Step step) {
  const std::string folder = in_folder(step_name(step));
  const std::string manifest_path = fmt::format("{}/{}", folder, kManifestName);
  const std::vector<std::byte> text = co_await files_.read(manifest_path);
  Manifest manifest;
  try {
    manifest = parse_manifest({reinterpret_cast<const char*>(text.data()), text.size()});
  } catch (const Corrupt& error) {
    throw Corrupt(fmt::format("{}: {}", manifest_path, error.what()));
  }
  if (manifest.step != step)
    throw Corrupt(fmt::format("{} is of step {}", manifest_path, manifest.step));

  Snapshot snapshot;
  snapshot.step = step;
  for (const ManifestPart& entry : manifest.parts) {
    const std::string path = folder + "/" + entry.name;
    Snapshot::Part part;
    part.name = entry.name;
    part.content = co_await files_.read(path);
    if (part.content.size() != entry.size.value())
      throw Corrupt(fmt::format("{} has {} bytes, the manifest says {}", path, part.content.size(),
                                entry.size));
    const std::vector<ConstBuf> whole = {const_buf(std::span<const std::byte>(part.content))};
    const std::string sha256 = co_await digest(whole);
    if (sha256 != entry.sha256)
      throw Corrupt(
          fmt::format("{} has SHA-256 {}, the manifest says {}: it was changed or damaged "
                      "after it was written",
                      path, sha256, entry.sha256));
    snapshot.parts.push_back(std::move(part));
  }
  co_return snapshot;
}

// The step that `latest` names; empty, with a warning, if it names none.
Task<std::optional<Step>> SnapshotStore::read_pointer(std::vector<std::string>& warnings) {
  const std::string path = in_folder(kLatestName);
  std::vector<std::byte> bytes;
  try {
    bytes = co_await files_.read(path);
  } catch (const DataError& error) {
    warnings.emplace_back(error.what());
    co_return std::nullopt;
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::optional<Step> step = step_at_end(text.substr(0, text.find('\n')));
  if (!step || text != step_name(*step) + "\n") {
    warnings.push_back(fmt::format("{} does not name a snapshot ({} bytes)", path, bytes.size()));
    co_return std::nullopt;
  }
  co_return step;
}

Task<bool> SnapshotStore::exists(std::string name) {
  const std::vector<std::string> names = co_await files_.list(options_.folder);
  co_return std::ranges::find(names, name) != names.end();
}

Task<std::string> SnapshotStore::digest(std::span<const ConstBuf> pieces) {
  Sha256 sha;
  for (const ConstBuf& piece : pieces) {
    const std::span<const std::byte> bytes = piece.bytes();
    for (std::uint64_t at = 0; at < piece.size.value(); at += kSliceBytes) {
      const std::uint64_t n = std::min(kSliceBytes, piece.size.value() - at);
      auto add = [&] {
        if (!bytes.empty()) sha.add(bytes.subspan(at, n));
      };
      co_await env_.work(Work::Encode, Elements((n + 3) / 4), add);
    }
  }
  co_return sha.hex();
}

}  // namespace shoal
