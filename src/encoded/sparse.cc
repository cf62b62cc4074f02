#include "encoded/sparse.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "collective/reduce.h"

namespace shoal {
namespace {

// A message begins with how many values its list has; kFull: it is a full range.
constexpr std::size_t kHead = sizeof(std::uint32_t);
constexpr std::uint32_t kFull = 0xffffffffU;

bool shorter_in_full(std::size_t n, std::size_t values) { return values * 8 >= n * 4; }

}  // namespace

void SparseSum::take(std::span<const float> range) {
  for (std::size_t i = 0; i < n_; ++i) {
    if (range[i] == 0.0F) continue;
    list_.at.push_back(static_cast<std::uint32_t>(i));
    list_.value.push_back(range[i]);
  }
  become_dense_if_shorter();
}

void SparseSum::become_dense() {
  full_.assign(n_, 0.0F);
  for (std::size_t k = 0; k < list_.at.size(); ++k) full_[list_.at[k]] = list_.value[k];
  list_ = {};
  dense_ = true;
}

void SparseSum::become_dense_if_shorter() {
  if (!dense_ && shorter_in_full(n_, list_.at.size())) become_dense();
}

void SparseSum::add(ConstBuf message) {
  const std::span<const std::byte> bytes = message.bytes();
  const auto corrupt = [&](std::string_view what) {
    return Corrupt(
        fmt::format("a sparse sum of {} elements in {} bytes: {}", n_, bytes.size(), what));
  };
  std::uint32_t count = 0;
  if (bytes.size() < kHead) throw corrupt("it has no head");
  std::memcpy(&count, bytes.data(), kHead);
  const std::size_t expected = kHead + (count == kFull ? n_ * 4 : std::size_t{count} * 8);
  if ((count != kFull && count > n_) || bytes.size() != expected)
    throw corrupt(fmt::format("{} would be right", expected));
  std::vector<float> values(count == kFull ? n_ : count);
  if (count == kFull) {
    if (!dense_) become_dense();
    if (n_ > 0) std::memcpy(values.data(), bytes.data() + kHead, n_ * 4);
    shoal::add(full_, values);
    return;
  }
  std::vector<std::uint32_t> at(count);
  if (count > 0) {
    std::memcpy(at.data(), bytes.data() + kHead, count * std::size_t{4});
    std::memcpy(values.data(), bytes.data() + kHead + count * std::size_t{4},
                count * std::size_t{4});
  }
  for (std::size_t k = 0; k < at.size(); ++k)
    if (at[k] >= n_ || (k > 0 && at[k] <= at[k - 1]))
      throw corrupt(fmt::format("position {} is outside of it, or out of order", at[k]));
  if (dense_) {
    for (std::size_t k = 0; k < at.size(); ++k) full_[at[k]] += values[k];
    return;
  }
  SparseList both;
  both.at.reserve(list_.at.size() + at.size());
  both.value.reserve(list_.at.size() + at.size());
  std::size_t i = 0;
  for (std::size_t k = 0; k <= at.size(); ++k) {
    for (; i < list_.at.size() && (k == at.size() || list_.at[i] < at[k]); ++i) {
      both.at.push_back(list_.at[i]);
      both.value.push_back(list_.value[i]);
    }
    if (k == at.size()) break;
    both.at.push_back(at[k]);
    const bool in_both = i < list_.at.size() && list_.at[i] == at[k];
    both.value.push_back(in_both ? list_.value[i++] + values[k] : values[k]);
  }
  list_ = std::move(both);
  become_dense_if_shorter();
}

Bytes SparseSum::size_of(Elements n, std::uint64_t values) {
  return Bytes(kHead + (shorter_in_full(n.value(), values) ? n.value() * 4 : values * 8));
}
Bytes SparseSum::most(Elements n) { return Bytes(kHead + n.value() * 4); }
Bytes SparseSum::size() const { return Bytes(kHead + (dense_ ? n_ * 4 : list_.at.size() * 8)); }

void SparseSum::write(MutBuf out) const {
  const std::uint32_t count = dense_ ? kFull : static_cast<std::uint32_t>(list_.at.size());
  std::memcpy(out.data, &count, kHead);
  std::byte* const body = out.data + kHead;
  if (dense_) {
    if (n_ > 0) std::memcpy(body, full_.data(), n_ * 4);
    return;
  }
  if (count == 0) return;
  std::memcpy(body, list_.at.data(), count * std::size_t{4});
  std::memcpy(body + count * std::size_t{4}, list_.value.data(), count * std::size_t{4});
}

void SparseSum::write(std::span<float> range) const {
  if (dense_) {
    std::ranges::copy(full_, range.begin());
    return;
  }
  std::ranges::fill(range, 0.0F);
  for (std::size_t k = 0; k < list_.at.size(); ++k) range[list_.at[k]] = list_.value[k];
}

}  // namespace shoal
