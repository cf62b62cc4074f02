// A tensor of a layout, row-major.
#pragma once

#include <utility>

#include "learner/layout.h"

namespace shoal {

inline TensorEntry tensor(std::string name, Section section, Dtype dtype,
                          std::vector<std::int64_t> shape) {
  TensorEntry t;
  t.name = std::move(name);
  t.section = section;
  t.dtype = dtype;
  t.strides.resize(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) t.strides[d] = stride;
  t.shape = std::move(shape);
  return t;
}

}  // namespace shoal
