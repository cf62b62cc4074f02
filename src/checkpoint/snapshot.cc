// Writes snapshots; snapshot_read.cc reads them.
#include "checkpoint/snapshot.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "checkpoint/manifest.h"
#include "checkpoint/snapshot_names.h"
#include "runtime/file_path.h"

namespace shoal {
namespace {

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

SnapshotStore::SnapshotStore(Env& env, Files& files, SnapshotOptions options)
    : env_(env), files_(files), options_(std::move(options)) {
  path_names(options_.folder);  // throws if it is not a path
  if (options_.keep < 2)
    throw ConfigError(
        fmt::format("keeping {} snapshots is too few: if the last one is damaged "
                    "an earlier one is needed; keep at least 2",
                    options_.keep));
  if (options_.writer.empty() || options_.writer.find_first_of("-/\n") != std::string::npos)
    throw ConfigError(
        fmt::format("\"{}\" cannot be the name of a writer of snapshots; use letters, digits "
                    "and dots, as in node3.1",
                    options_.writer));
}

std::string SnapshotStore::in_folder(std::string_view name) const {
  return options_.folder.empty() ? std::string(name) : fmt::format("{}/{}", options_.folder, name);
}

std::string SnapshotStore::temporary(std::string_view what, Step step) const {
  return fmt::format("{}{}-{}{}", kTemporaryPrefix, options_.writer, what, step_name(step));
}

bool SnapshotStore::is_own(std::string_view temporary) const {
  return temporary.starts_with(fmt::format("{}{}-", kTemporaryPrefix, options_.writer));
}

Task<void> SnapshotStore::write(Step step, std::vector<SnapshotPart> parts) {
  std::exception_ptr error;
  bool published = false;
  try {
    co_await clear_leftovers();
    published = co_await is_safe(step);
    if (!published) {
      co_await stage(step, std::move(parts));
      co_await publish(step);
      published = true;
    }
    co_await point_latest(step);
    co_await tidy(step);
  } catch (const DataError&) {
    error = std::current_exception();
  }
  if (!error) co_return;
  const bool superseded = co_await clean_up(step);
  if (published || !superseded) std::rethrow_exception(error);
  env_.probe("snapshot: superseded by another writer");
}

// Removes the remains of a failed write. True if another writer has published this step or a newer
// one, and may have removed our files for that reason: the request is fulfilled.
Task<bool> SnapshotStore::clean_up(Step step) {
  try {
    co_await remove_own();
    co_await sync_folder();  // first, so that files that we find cannot vanish with a crash of
                             // their writer
    std::vector<std::string> ignored;
    const std::optional<Snapshot> newest = co_await newest_good(step, ignored);
    co_return newest.has_value();
  } catch (const DataError&) {
    co_return false;  // the first error says more
  }
}

// Whether the step is published, durable and undamaged.
Task<bool> SnapshotStore::is_safe(Step step) {
  const bool there = co_await exists(step_name(step));
  if (!there) co_return false;
  co_await sync_folder();  // its writer may have crashed before doing this
  try {
    co_await load(step);
    co_return true;
  } catch (const Corrupt&) {
    co_return false;
  } catch (const DataError&) {
    co_return false;
  }
}

// Removes files of crashed writers, but not of others that may still be writing.
Task<void> SnapshotStore::clear_leftovers() {
  co_await remove_own();
  const std::vector<std::string> names = co_await files_.list(options_.folder);
  std::vector<Step> steps = published_steps(names);
  std::erase_if(steps, [&](Step step) { return broken_.contains(step); });
  for (const std::string& name : names) {
    const std::optional<Step> step = step_at_end(name);
    if (is_temporary(name) && step && !steps.empty() && *step < steps.front())
      co_await discard(name, *step);
  }
}

Task<void> SnapshotStore::stage(Step step, std::vector<SnapshotPart> parts) {
  const std::string folder = in_folder(temporary("", step));
  std::vector<std::string> expected = {std::string(kManifestName)};
  Manifest manifest;
  manifest.step = step;
  for (const SnapshotPart& part : parts) {
    ManifestPart entry;
    entry.name = part.name;
    for (const ConstBuf& piece : part.pieces) entry.size += piece.size;
    entry.sha256 = co_await digest(part.pieces);
    manifest.parts.push_back(std::move(entry));
    expected.push_back(part.name);
  }
  const std::string text = to_text(manifest);
  const std::vector<ConstBuf> whole = {const_buf(as_bytes(text))};
  co_await write_part(fmt::format("{}/{}", folder, kManifestName), whole);
  for (const SnapshotPart& part : parts) co_await write_part(folder + "/" + part.name, part.pieces);

  // Another writer may have removed the folder, and our next piece then created a new one. That one
  // lacks the manifest, which is written first.
  const std::vector<std::string> names = co_await files_.list(folder);
  std::ranges::sort(expected);
  if (names != expected)
    throw DataError(
        fmt::format("{} has {} files instead of {}: some were removed while they "
                    "were being written",
                    folder, names.size(), expected.size()));
  co_await files_.sync(folder);
}

Task<void> SnapshotStore::write_part(std::string path, std::span<const ConstBuf> pieces) {
  const ConstBuf first = pieces.empty() ? ConstBuf() : pieces.front();
  co_await files_.write(path, first);
  for (std::size_t i = 1; i < pieces.size(); ++i) co_await files_.append(path, pieces[i]);
  co_await files_.sync(path);
}

Task<void> SnapshotStore::publish(Step step) {
  const std::string from = in_folder(temporary("", step));
  const std::string to = in_folder(step_name(step));
  for (int attempts_left = 2;; --attempts_left) {
    std::exception_ptr error;
    try {
      co_await files_.rename(from, to);
    } catch (const DataError&) {
      error = std::current_exception();
    }
    co_await sync_folder();
    if (!error) co_return;
    // The name is taken: by a faster writer; by a damaged snapshot, which is replaced now; or no
    // longer, because the other writer crashed before it was durable.
    const bool safe = co_await is_safe(step);
    if (safe || attempts_left == 0) std::rethrow_exception(error);
    const bool in_the_way = co_await exists(step_name(step));
    if (in_the_way) co_await discard(step_name(step), step);
  }
}

// Makes the names in our folder durable, and once also the names that lead to it.
Task<void> SnapshotStore::sync_folder() {
  co_await files_.sync(options_.folder);
  if (folder_is_durable_) co_return;
  const std::vector<std::string> names = path_names(options_.folder);
  std::string above;
  for (const std::string& name : names) {
    co_await files_.sync(above);
    above = above.empty() ? name : above + "/" + name;
  }
  folder_is_durable_ = true;
}

Task<void> SnapshotStore::point_latest(Step step) {
  const bool settled = co_await is_pointed(step + Step(1));
  if (settled) co_return;
  const std::string text = step_name(step) + "\n";
  const std::string from = in_folder(temporary("latest-", step));
  const std::string to = in_folder(kLatestName);
  std::exception_ptr error;
  try {
    co_await files_.write(from, const_buf(as_bytes(text)));
    co_await files_.sync(from);
    co_await files_.rename(from, to);
    co_await files_.sync(options_.folder);
  } catch (const DataError&) {
    error = std::current_exception();
  }
  if (!error) co_return;
  // A writer that is further ahead may have removed the temporary file.
  const std::vector<std::string> names = co_await files_.list(options_.folder);
  const std::vector<Step> steps = published_steps(names);
  const bool overtaken = !steps.empty() && steps.front() > step;
  const bool pointed = co_await is_pointed(step);
  if (!overtaken && !pointed) std::rethrow_exception(error);
}

// Whether `latest` names this step or a newer existing one that is undamaged as far as we know.
Task<bool> SnapshotStore::is_pointed(Step step) {
  std::vector<std::string> ignored;
  const std::optional<Step> latest = co_await read_pointer(ignored);
  if (!latest || *latest < step || broken_.contains(*latest)) co_return false;
  co_return co_await exists(step_name(*latest));
}

// Removes old snapshots now that `step` is safe. Newer ones belong to a faster writer.
Task<void> SnapshotStore::tidy(Step step) {
  const std::vector<std::string> names = co_await files_.list(options_.folder);
  const std::vector<Step> steps = published_steps(names);
  std::size_t kept = 0;
  for (const Step published : steps) {
    const bool broken = published != step && broken_.contains(published);
    const bool keep = published > step || kept < options_.keep;
    if (!broken && published <= step && keep) ++kept;
    if (broken || !keep) co_await discard(step_name(published), published);
  }
  broken_.clear();
  for (const std::string& name : names) {
    const std::optional<Step> started = step_at_end(name);
    if (is_temporary(name) && started && *started <= step) co_await discard(name, *started);
  }
}

// Renames a snapshot first, then removes it: a process that still writes in it must fail instead of
// publishing the remains. Also done if another process was faster; repeated if a crash of that
// process undid its removal.
Task<void> SnapshotStore::discard(std::string name, Step step) {
  const std::string from = in_folder(name);
  const std::string gone = in_folder(temporary("gone-", step));
  for (int attempts_left = 2;; --attempts_left) {
    std::exception_ptr error;
    try {
      if (!is_own(name)) co_await files_.rename(from, gone);
      const std::string& last = is_own(name) ? from : gone;
      co_await files_.remove(last);
    } catch (const DataError&) {
      error = std::current_exception();
    }
    if (!error) co_return;
    const bool still_there = co_await exists(name);
    if (!still_there) co_return;
    if (attempts_left == 0) std::rethrow_exception(error);
  }
}

Task<void> SnapshotStore::remove_own() {
  const std::vector<std::string> names = co_await files_.list(options_.folder);
  for (const std::string& name : names) {
    if (!is_own(name)) continue;
    const std::string path = in_folder(name);
    co_await files_.remove(path);
  }
}

}  // namespace shoal
