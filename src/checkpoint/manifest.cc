#include "checkpoint/manifest.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/error.h"
#include "base/parse.h"
#include "checkpoint/sha256.h"

namespace shoal {
namespace {

std::string digest_of(std::string_view text) {
  Sha256 sha;
  sha.add(std::as_bytes(std::span(text)));
  return sha.hex();
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Reads the lines of a manifest, one after the other.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // The rest of the next line, after its keyword and a space.
  std::string_view next(std::string_view keyword) {
    ++number_;
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) fail("is cut off");
    const std::string_view line = rest_.substr(0, end);
    if (!line.starts_with(keyword) || line.substr(keyword.size(), 1) != " ")
      fail(fmt::format("should begin with \"{} \"", keyword));
    rest_.remove_prefix(end + 1);
    return line.substr(keyword.size() + 1);
  }
  bool next_is(std::string_view keyword) const { return rest_.starts_with(keyword); }
  std::string_view rest() const { return rest_; }
  [[noreturn]] void fail(std::string_view what) const {
    throw Corrupt(fmt::format("line {} of the manifest {}", number_, what));
  }

 private:
  std::string_view rest_;
  unsigned number_ = 0;
};

ManifestPart parse_part(std::string_view line, const Lines& lines) {
  const std::size_t first = std::min(line.find(' '), line.size());
  const std::string_view rest = line.substr(std::min(first + 1, line.size()));
  const std::optional<std::uint64_t> size = parse_number<std::uint64_t>(line.substr(0, first));
  if (!size) lines.fail("has no size");
  const std::string_view sha = rest.substr(0, 64);
  if (!is_sha256(sha) || rest.substr(64, 1) != " ") lines.fail("has no SHA-256");
  const std::string_view name = rest.substr(65);
  if (!is_part_name(name)) lines.fail("has no usable name");
  return {std::string(name), Bytes(*size), std::string(sha)};
}

}  // namespace

bool is_part_name(std::string_view name) {
  const bool printable = std::ranges::all_of(
      name, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && c != '/'; });
  return printable && !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name != kManifestName;
}

std::string to_text(const Manifest& manifest) {
  std::string text = fmt::format("shoal-snapshot {}\nstep {}\n", kManifestVersion, manifest.step);
  for (const ManifestPart& part : manifest.parts) {
    SHOAL_CHECK(is_part_name(part.name), "\"{}\" cannot be the name of a part of a snapshot",
                part.name);
    text += fmt::format("part {} {} {}\n", part.size, part.sha256, part.name);
  }
  return text + fmt::format("end {}\n", digest_of(text));
}

Manifest parse_manifest(std::string_view text) {
  Lines lines(text);
  const std::string_view version = lines.next("shoal-snapshot");
  if (version != std::to_string(kManifestVersion))
    lines.fail(
        fmt::format("says format version \"{}\", this program knows {}; a newer one may have "
                    "written it",
                    version, kManifestVersion));
  Manifest manifest;
  const std::optional<std::uint64_t> step = parse_number<std::uint64_t>(lines.next("step"));
  if (!step) lines.fail("has no step");
  manifest.step = Step(*step);

  std::set<std::string> names;
  while (lines.next_is("part")) {
    ManifestPart part = parse_part(lines.next("part"), lines);
    if (!names.insert(part.name).second) lines.fail("repeats the name of a part");
    manifest.parts.push_back(std::move(part));
  }
  const std::string_view above = text.substr(0, text.size() - lines.rest().size());
  if (lines.next("end") != digest_of(above))
    lines.fail("does not have the SHA-256 of the lines above it");
  if (!lines.rest().empty()) lines.fail("is not the last one");
  return manifest;
}

}  // namespace shoal
