#include "checkpoint/model_file.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/check.h"
#include "base/error.h"

namespace shoal {
namespace {

// Tensors are copied in slices, like every long loop, so that heartbeats continue.
constexpr std::uint64_t kSliceElements = 65536;

TensorInfo info_of(const TensorEntry& t) { return {t.name, t.dtype, t.shape}; }

Bytes bytes_of(const TensorEntry& t) { return Bytes(count(t.shape) * size_of(t.dtype)); }

// Calls f(position in row-major order, position in the arena) for elements `first` to first + n -
// 1.
template <class F>
void walk(const TensorEntry& t, std::uint64_t first, std::uint64_t n, F f) {
  const std::size_t dimensions = t.shape.size();
  std::vector<std::int64_t> index(dimensions);
  std::int64_t at = 0;
  std::uint64_t rest = first;
  for (std::size_t d = dimensions; d-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(t.shape[d]);
    index[d] = static_cast<std::int64_t>(rest % extent);
    rest /= extent;
    at += index[d] * t.strides[d];
  }
  for (std::uint64_t i = first; i < first + n; ++i) {
    f(i, static_cast<std::uint64_t>(at));
    for (std::size_t d = dimensions; d-- > 0;) {
      at += t.strides[d];
      if (++index[d] < t.shape[d]) break;
      at -= t.shape[d] * t.strides[d];
      index[d] = 0;
    }
  }
}

// Calls f(position in row-major order, position in the arena), both in bytes, for each element.
template <class F>
Task<void> walk_all(Env& env, const TensorEntry& t, F f) {
  const std::uint64_t width = size_of(t.dtype);
  const std::uint64_t n = count(t.shape);
  for (std::uint64_t at = 0; at < n; at += kSliceElements) {
    const std::uint64_t slice = std::min(kSliceElements, n - at);
    auto work = [&] {
      walk(t, at, slice, [&](std::uint64_t i, std::uint64_t j) { f(i * width, j * width); });
    };
    co_await env.work(Work::Copy, Elements(slice), work);
  }
}

Task<void> copy_in_slices(Env& env, std::span<const std::byte> from, MutBuf to) {
  constexpr std::uint64_t kBytes = kSliceElements * sizeof(float);
  for (std::uint64_t at = 0; at < from.size(); at += kBytes) {
    const std::uint64_t n = std::min<std::uint64_t>(kBytes, from.size() - at);
    auto work = [&] {
      if (to.data != nullptr) std::memcpy(to.data + at, from.data() + at, n);
    };
    co_await env.work(Work::Copy, Elements((n + 3) / 4), work);
  }
}

std::vector<const TensorEntry*> in_file_order(const Layout& layout) {
  std::vector<const TensorEntry*> tensors;
  for (const TensorEntry& t : layout.tensors()) tensors.push_back(&t);
  std::ranges::sort(tensors, [](const TensorEntry* a, const TensorEntry* b) {
    const std::uint64_t wide_a = size_of(a->dtype);
    const std::uint64_t wide_b = size_of(b->dtype);
    return wide_a != wide_b ? wide_a > wide_b : a->name < b->name;
  });
  return tensors;
}

void check_size(const Layout& layout, Bytes size) {
  SHOAL_CHECK_EQ(size, Bytes(layout.all().value() * sizeof(float)), "the layout's state");
}

// The file's tensors in the layout's order.
std::vector<const SafeTensor*> match(const Layout& layout, const SafetensorsView& view,
                                     const std::string& file) {
  const auto refuse = [&](std::string_view name, std::string_view there, std::string_view here) {
    throw DataError(
        fmt::format("{} is a checkpoint of another model: tensor \"{}\" is {} there and {} here. "
                    "Give the options of the run that wrote it, or another checkpoint",
                    file, name, there, here));
  };
  std::map<std::string_view, const SafeTensor*> by_name;
  for (const SafeTensor& t : view.tensors) by_name[t.info.name] = &t;
  std::vector<const SafeTensor*> found;
  for (const TensorEntry& t : layout.tensors()) {
    const auto it = by_name.find(t.name);
    const TensorInfo here = info_of(t);
    if (it == by_name.end()) refuse(t.name, "missing", describe(here));
    if (it->second->info != here) refuse(t.name, describe(it->second->info), describe(here));
    found.push_back(it->second);
  }
  if (found.size() < by_name.size())
    for (const auto& [name, tensor] : by_name)
      if (layout.find(name) == nullptr) refuse(name, describe(tensor->info), "missing");
  return found;
}

}  // namespace

Task<ModelFile> model_file(Env& env, const Layout& layout, ConstBuf state,
                           SafetensorsMetadata metadata) {
  check_size(layout, state.size);
  const std::vector<const TensorEntry*> tensors = in_file_order(layout);
  std::vector<TensorInfo> infos;
  for (const TensorEntry* t : tensors) infos.push_back(info_of(*t));
  const std::string header = safetensors_header(infos, metadata);

  ModelFile file;
  const std::span<const std::byte> text = std::as_bytes(std::span(header));
  file.own_.emplace_back(text.begin(), text.end());
  file.pieces.push_back(const_buf(std::span<const std::byte>(file.own_.back())));
  for (const TensorEntry* t : tensors) {
    const Bytes size = bytes_of(*t);
    if (size == Bytes(0)) continue;
    const std::byte* from =
        state.data == nullptr ? nullptr : state.data + t->at.value() * sizeof(float);
    if (from != nullptr && !is_row_major(*t)) {
      std::byte* to = file.own_.emplace_back(size.value()).data();
      const std::uint64_t width = size_of(t->dtype);
      auto gather = [&](std::uint64_t i, std::uint64_t j) { std::memcpy(to + i, from + j, width); };
      co_await walk_all(env, *t, gather);
      from = to;
    }
    file.pieces.push_back(ConstBuf{from, size});
  }
  co_return file;
}

Task<void> load_model(Env& env, const Layout& layout, std::span<const std::byte> bytes,
                      std::string file, MutBuf state) {
  check_size(layout, state.size);
  const SafetensorsView view = parse_safetensors(bytes, file);
  const std::vector<const SafeTensor*> found = match(layout, view, file);
  for (std::size_t k = 0; k < found.size() && state.data != nullptr; ++k) {
    const TensorEntry& t = layout.tensors()[k];
    const std::span<const std::byte> data = found[k]->data;
    std::byte* to = state.data + t.at.value() * sizeof(float);
    const MutBuf whole{to, Bytes(data.size())};
    if (is_row_major(t)) {
      co_await copy_in_slices(env, data, whole);
    } else {
      const std::uint64_t width = size_of(t.dtype);
      auto scatter = [&](std::uint64_t i, std::uint64_t j) {
        std::memcpy(to + j, data.data() + i, width);
      };
      co_await walk_all(env, t, scatter);
    }
  }
}

}  // namespace shoal
