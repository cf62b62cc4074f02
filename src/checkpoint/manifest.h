// The manifest of a snapshot: its parts, and digests to verify that it is complete.
//
//   shoal-snapshot 1
//   step 120
//   part 4096 <SHA-256 of the content> model.safetensors
//   end <SHA-256 of the lines above>
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace shoal {

inline constexpr unsigned kManifestVersion = 1;
inline constexpr std::string_view kManifestName = "manifest";

struct ManifestPart {
  std::string name;
  Bytes size;
  std::string sha256;
  bool operator==(const ManifestPart&) const = default;
};

struct Manifest {
  Step step;
  std::vector<ManifestPart> parts;
  bool operator==(const Manifest&) const = default;
};

// Whether a part may have this name: a plain, printable file name other than the manifest's.
bool is_part_name(std::string_view name);

// REQUIRES: names satisfy is_part_name and differ.
std::string to_text(const Manifest& manifest);
// Throws Corrupt, which names the wrong line, for anything that to_text did not write.
Manifest parse_manifest(std::string_view text);

}  // namespace shoal
