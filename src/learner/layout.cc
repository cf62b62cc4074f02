#include "learner/layout.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace shoal {
namespace {

// A section of raw bits begins at an address for any type.
constexpr std::uint64_t kSideAlignment = 16;

Elements room_of(const TensorEntry& t) {
  const std::uint64_t bytes = count(t.shape) * size_of(t.dtype);
  const std::uint64_t n = (bytes + sizeof(float) - 1) / sizeof(float);
  // Keeps later entries of the side section aligned.
  return Elements(t.section == Section::Side ? (n + 1) / 2 * 2 : n);
}

}  // namespace

std::string_view to_string(Dtype dtype) {
  switch (dtype) {
    case Dtype::F64: return "F64";
    case Dtype::F32: return "F32";
    case Dtype::F16: return "F16";
    case Dtype::BF16: return "BF16";
    case Dtype::I64: return "I64";
    case Dtype::I32: return "I32";
    case Dtype::I16: return "I16";
    case Dtype::I8: return "I8";
    case Dtype::U8: return "U8";
    case Dtype::Bool: return "BOOL";
  }
  SHOAL_CHECK(false, "dtype {}", static_cast<int>(dtype));
}

std::uint64_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::F64:
    case Dtype::I64: return 8;
    case Dtype::F32:
    case Dtype::I32: return 4;
    case Dtype::F16:
    case Dtype::BF16:
    case Dtype::I16: return 2;
    case Dtype::I8:
    case Dtype::U8:
    case Dtype::Bool: return 1;
  }
  SHOAL_CHECK(false, "dtype {}", static_cast<int>(dtype));
}

std::uint64_t count(std::span<const std::int64_t> shape) {
  std::uint64_t n = 1;
  for (const std::int64_t d : shape) n *= static_cast<std::uint64_t>(d);
  return n;
}

bool is_row_major(const TensorEntry& t) {
  std::int64_t expected = 1;
  for (std::size_t d = t.shape.size(); d-- > 0;) {
    if (t.shape[d] != 1 && t.strides[d] != expected) return false;
    expected *= t.shape[d];
  }
  return true;
}

Layout::Layout(std::vector<TensorEntry> tensors) : tensors_(std::move(tensors)) {
  Section section = Section::Parameter;
  for (TensorEntry& t : tensors_) {
    SHOAL_CHECK(t.section >= section, "tensor {} is not in its section", t.name);
    SHOAL_CHECK(t.section == Section::Side || t.dtype == Dtype::F32, "tensor {} is {}", t.name,
                to_string(t.dtype));
    SHOAL_CHECK_EQ(t.shape.size(), t.strides.size(), "tensor {}", t.name);
    if (t.section == Section::Side && section != Section::Side)
      all_ = Elements((all_.value() + kSideAlignment - 1) / kSideAlignment * kSideAlignment);
    section = t.section;
    t.at = all_;
    t.n = room_of(t);
    all_ += t.n;
    if (section == Section::Parameter) {
      ++parameter_tensors_;
      parameters_ = all_;
    }
    if (section != Section::Side) averaged_ = all_;
  }
}

Layout Layout::plain(Elements parameters) {
  const auto n = static_cast<std::int64_t>(parameters.value());
  TensorEntry w;
  w.name = std::string("w");
  w.shape.push_back(n);
  w.strides.push_back(1);
  return Layout({w});
}

const TensorEntry* Layout::find(std::string_view name) const {
  const auto it = std::ranges::find(tensors_, name, &TensorEntry::name);
  return it == tensors_.end() ? nullptr : &*it;
}

std::uint64_t Layout::hash() const {
  Hash hash;
  for (const TensorEntry& t : tensors_) {
    hash.add(std::as_bytes(std::span(t.name)));
    hash.add(static_cast<std::uint64_t>(t.dtype));
    for (const std::int64_t d : t.shape) hash.add(static_cast<std::uint64_t>(d));
    hash.add(t.at.value());
  }
  return hash.value();
}

}  // namespace shoal
