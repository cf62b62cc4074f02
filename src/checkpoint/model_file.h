// Converts a model's state to a safetensors file and back: every tensor of the layout under the
// module's own name, row-major: parameters, float buffers and the side section.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "learner/layout.h"
#include "runtime/buffer.h"
#include "runtime/env.h"
#include "runtime/task.h"

namespace shoal {

inline constexpr const char* kModelFile = "model.safetensors";

// The file, as pieces to write. Tensors that are row-major in the arena are pieces of the arena
// itself; only the others are copied. The widest types come first, so that each tensor is aligned
// in the file; within a width, tensors are sorted by name.
class ModelFile {
 public:
  ModelFile() = default;
  ModelFile(ModelFile&&) noexcept = default;  // the targets of the pieces do not move
  ModelFile& operator=(ModelFile&&) noexcept = default;
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  std::vector<ConstBuf> pieces;

 private:
  friend Task<ModelFile> model_file(Env&, const Layout&, ConstBuf, SafetensorsMetadata);
  std::vector<std::vector<std::byte>> own_;  // the header, and copies
};

// REQUIRES: `state` has the layout's size and does not change until the file is written.
Task<ModelFile> model_file(Env& env, const Layout& layout, ConstBuf state,
                           SafetensorsMetadata metadata);

// Fills the state from a file's bytes. Throws DataError, and changes nothing, if it is of another
// model: a tensor is missing, unknown, or has another type or shape. REQUIRES: `state` has the
// layout's size.
Task<void> load_model(Env& env, const Layout& layout, std::span<const std::byte> bytes,
                      std::string file, MutBuf state);

}  // namespace shoal
