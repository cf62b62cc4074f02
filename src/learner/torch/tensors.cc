#include "learner/torch/tensors.h"

#include "base/check.h"
#include "base/error.h"

namespace shoal {
namespace {

Dtype dtype_of(const NamedTensor& t) {
  switch (t.tensor.scalar_type()) {
    case at::kDouble: return Dtype::F64;
    case at::kFloat: return Dtype::F32;
    case at::kHalf: return Dtype::F16;
    case at::kBFloat16: return Dtype::BF16;
    case at::kLong: return Dtype::I64;
    case at::kInt: return Dtype::I32;
    case at::kShort: return Dtype::I16;
    case at::kChar: return Dtype::I8;
    case at::kByte: return Dtype::U8;
    case at::kBool: return Dtype::Bool;
    default:
      throw ConfigError(fmt::format("tensor {} of the model has a type that cannot be kept: {}",
                                    t.name, c10::toString(t.tensor.scalar_type())));
  }
}

at::ScalarType scalar_type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::F64: return at::kDouble;
    case Dtype::F32: return at::kFloat;
    case Dtype::F16: return at::kHalf;
    case Dtype::BF16: return at::kBFloat16;
    case Dtype::I64: return at::kLong;
    case Dtype::I32: return at::kInt;
    case Dtype::I16: return at::kShort;
    case Dtype::I8: return at::kChar;
    case Dtype::U8: return at::kByte;
    case Dtype::Bool: return at::kBool;
  }
  SHOAL_CHECK(false, "dtype {}", static_cast<int>(dtype));
}

}  // namespace

TensorEntry entry_of(const NamedTensor& t, Section section, bool channels_last) {
  TensorEntry entry;
  entry.name = t.name;
  entry.section = section;
  entry.dtype = dtype_of(t);
  entry.shape = t.tensor.sizes().vec();
  entry.strides = at::empty(entry.shape, at::TensorOptions().device(at::kMeta)).strides().vec();
  if (channels_last && entry.shape.size() == 4)
    entry.strides = c10::get_channels_last_strides_2d(entry.shape);
  return entry;
}

at::Tensor view_of(const TensorEntry& entry, float* state) {
  return at::from_blob(state + entry.at.value(), entry.shape, entry.strides,
                       scalar_type_of(entry.dtype));
}

}  // namespace shoal
