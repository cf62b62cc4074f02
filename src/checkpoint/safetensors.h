// safetensors: named tensors in one file that every framework reads and that cannot run code.
//
//   | n: 8 bytes, little-endian | header: n bytes of JSON | tensors, one after the other |
//
//   {"__metadata__":{"step":"120"},"fc.bias":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}, ..}
//
// The header is padded with spaces, so that the data begins at a multiple of 8. Offsets count from
// there, and the tensors cover the rest of the file without hole or overlap.
// https://huggingface.co/docs/safetensors
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learner/layout.h"

namespace shoal {

inline constexpr std::uint64_t kSafetensorsHeaderMax = 100'000'000;

struct TensorInfo {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<std::int64_t> shape;
  bool operator==(const TensorInfo&) const = default;
};
std::string describe(const TensorInfo& tensor);  // "F32 [3, 5]"

using SafetensorsMetadata = std::map<std::string, std::string>;

// The part of the file before the data of these tensors, which follow row-major in this order.
// Throws ConfigError for names that the format cannot hold. REQUIRES: names differ.
std::string safetensors_header(std::span<const TensorInfo> tensors,
                               const SafetensorsMetadata& metadata);

struct SafeTensor {
  TensorInfo info;
  std::span<const std::byte> data;  // in the file; not aligned
};

struct SafetensorsView {
  SafetensorsMetadata metadata;
  std::vector<SafeTensor> tensors;  // in the order of their data
  const SafeTensor* find(std::string_view name) const;
};

// Throws Corrupt for a malformed safetensors file, and DataError for an unsupported dtype; both
// name the file, the tensor and the value. Allocates no more than a few times the size of the
// header. REQUIRES: the bytes outlive the view.
SafetensorsView parse_safetensors(std::span<const std::byte> bytes, const std::string& file);

}  // namespace shoal
