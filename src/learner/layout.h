// Layout: the positions of a model's tensors in the flat arena.
//
//   | parameters                | buffers           | side                        |
//   0                           N                   N + M                         all
//
// Parameters are trained. They lie in the order in which their gradients become ready, so that a
// bucket is a range. Buffers are float32 state that is not trained (running statistics) and may be
// averaged. Side holds state of other types (a counter): raw bits that are only copied.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace shoal {

enum class Dtype : std::uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool };
std::string_view to_string(Dtype dtype);  // in safetensors' notation: "F32"
std::uint64_t size_of(Dtype dtype);       // bytes

enum class Section : std::uint8_t { Parameter, Buffer, Side };

struct TensorEntry {
  std::string name;  // the module's own
  Section section = Section::Parameter;
  Dtype dtype = Dtype::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // dense, but not always row-major
  Elements at{};                      // offset in the arena
  Elements n{};                       // float32 elements that it occupies
};

std::uint64_t count(std::span<const std::int64_t> shape);  // the number of elements of a shape
bool is_row_major(const TensorEntry& tensor);

class Layout {
 public:
  Layout() = default;
  // Places the tensors one after the other, and sets their `at` and `n`. REQUIRES: parameters come
  // first, then buffers, then side.
  explicit Layout(std::vector<TensorEntry> tensors);
  // N parameters without names, for problems without tensors.
  static Layout plain(Elements parameters);

  std::span<const TensorEntry> tensors() const { return tensors_; }
  std::span<const TensorEntry> parameter_tensors() const {
    return tensors().first(parameter_tensors_);
  }
  Elements parameters() const { return parameters_; }  // N
  Elements averaged() const { return averaged_; }      // N + M: the part that replicas average
  Elements all() const { return all_; }
  const TensorEntry* find(std::string_view name) const;  // null: there is none
  std::uint64_t hash() const;                            // of everything except strides

 private:
  std::vector<TensorEntry> tensors_;
  std::size_t parameter_tensors_ = 0;
  Elements parameters_, averaged_, all_;
};

}  // namespace shoal
