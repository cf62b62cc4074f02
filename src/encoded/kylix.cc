#include "encoded/kylix.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "collective/reduce.h"

namespace shoal {
namespace {

enum class Form : std::uint32_t { Remembered, List, Bits, All };

struct Head {
  Form form = Form::All;
  std::uint32_t count = 0;
  std::uint64_t hash = 0;  // of the places
};
static_assert(sizeof(Head) == 16);

std::size_t bits_bytes(KylixPart part) {
  return (std::size_t{part.end - part.begin} + 31) / 32 * sizeof(std::uint32_t);
}

Form shortest(std::uint64_t values, KylixPart part) {
  if (values == part.end - part.begin) return Form::All;
  return values * sizeof(std::uint32_t) <= bits_bytes(part) ? Form::List : Form::Bits;
}

std::size_t places_bytes(Form form, std::uint64_t values, KylixPart part) {
  if (form == Form::List) return values * sizeof(std::uint32_t);
  return form == Form::Bits ? bits_bytes(part) : 0;
}

void write_bits(std::span<const std::uint32_t> at, KylixPart part, std::byte* out) {
  std::vector<std::uint32_t> bits(bits_bytes(part) / sizeof(std::uint32_t), 0);
  for (const std::uint32_t place : at) {
    const std::uint32_t i = place - part.begin;
    bits[i / 32] |= 1U << i % 32;
  }
  if (!bits.empty()) std::memcpy(out, bits.data(), bits.size() * sizeof(std::uint32_t));
}

std::vector<std::uint32_t> read_bits(std::span<const std::byte> in, KylixPart part) {
  std::vector<std::uint32_t> at;
  for (std::size_t word = 0; word * 4 < in.size(); ++word) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, in.data() + word * 4, sizeof bits);
    for (; bits != 0; bits &= bits - 1)
      at.push_back(part.begin + static_cast<std::uint32_t>(word * 32) +
                   static_cast<std::uint32_t>(std::countr_zero(bits)));
  }
  return at;
}

std::vector<std::uint32_t> read_places(const Head& head, std::span<const std::byte> in,
                                       KylixPart part) {
  if (head.form == Form::Bits) return read_bits(in, part);
  std::vector<std::uint32_t> at(head.count);
  if (head.form == Form::List) {
    if (!at.empty()) std::memcpy(at.data(), in.data(), in.size());
  } else {
    for (std::uint32_t i = 0; i < head.count; ++i) at[i] = part.begin + i;
  }
  return at;
}

KylixPattern pattern_of(std::vector<std::uint32_t> places) {
  const std::uint64_t hash = hash_of(std::span<const std::uint32_t>(places));
  return std::make_shared<const KylixPlaces>(KylixPlaces{std::move(places), hash});
}

}  // namespace

KylixPattern remember(KylixPattern& remembered, std::span<const std::uint32_t> places) {
  if (!remembered || !std::ranges::equal(remembered->at, places))
    remembered = pattern_of({places.begin(), places.end()});
  return remembered;
}

KylixList kylix_list(std::span<const float> range, KylixPattern& remembered) {
  std::vector<std::uint32_t> at;
  for (std::size_t i = 0; i < range.size(); ++i)
    if (range[i] != 0.0F) at.push_back(static_cast<std::uint32_t>(i));
  const bool enough = remembered && 2 * at.size() >= remembered->at.size() &&
                      std::ranges::includes(remembered->at, at);
  KylixList list{enough ? remembered : remember(remembered, at), {}};
  list.value.reserve(list.pattern->at.size());
  for (const std::uint32_t place : list.pattern->at) list.value.push_back(range[place]);
  return list;
}

Bytes kylix_size(std::uint64_t values, KylixPart part, bool places) {
  const std::size_t where = places ? places_bytes(shortest(values, part), values, part) : 0;
  return Bytes(sizeof(Head) + values * sizeof(float) + where);
}

void write_kylix(std::span<const float> values, const KylixPlaces& pattern, KylixPart part,
                 bool places, MutBuf out) {
  const Form form = places ? shortest(values.size(), part) : Form::Remembered;
  const Head head{form, static_cast<std::uint32_t>(values.size()), pattern.hash};
  std::memcpy(out.data, &head, sizeof head);
  std::byte* to = out.data + sizeof head;
  if (!values.empty()) std::memcpy(to, values.data(), values.size_bytes());
  to += values.size_bytes();
  if (form == Form::List && !pattern.at.empty())
    std::memcpy(to, pattern.at.data(), pattern.at.size() * sizeof(std::uint32_t));
  if (form == Form::Bits) write_bits(pattern.at, part, to);
}

KylixList read_kylix(ConstBuf message, KylixPart part, KylixPattern& remembered) {
  const std::span<const std::byte> bytes = message.bytes();
  const auto corrupt = [&](std::string_view what) {
    return Corrupt(fmt::format("a list of {} elements from position {} on in {} bytes: {}",
                               part.end - part.begin, part.begin, bytes.size(), what));
  };
  Head head;
  if (bytes.size() < sizeof head) throw corrupt("it has no head");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.form > Form::All) throw corrupt("its head is none");
  if (head.count > part.end - part.begin) throw corrupt("it has more values than positions");
  const std::size_t where = places_bytes(head.form, head.count, part);
  const std::size_t expected = sizeof head + std::size_t{head.count} * sizeof(float) + where;
  if (bytes.size() != expected) throw corrupt(fmt::format("{} would be right", expected));
  KylixList list;
  list.value.resize(head.count);
  if (head.count > 0)
    std::memcpy(list.value.data(), bytes.data() + sizeof head, head.count * sizeof(float));
  if (head.form == Form::Remembered) {
    if (!remembered || remembered->hash != head.hash || remembered->at.size() != head.count)
      throw corrupt("its positions are not the remembered ones");
    list.pattern = remembered;
    return list;
  }
  const std::vector<std::uint32_t> at = read_places(head, bytes.last(where), part);
  if (at.size() != head.count) throw corrupt("it has different numbers of positions and values");
  for (std::size_t k = 0; k < at.size(); ++k)
    if (at[k] < part.begin || at[k] >= part.end || (k > 0 && at[k] <= at[k - 1]))
      throw corrupt(fmt::format("position {} is outside of it, or out of order", at[k]));
  if (hash_of(std::span<const std::uint32_t>(at)) != head.hash)
    throw corrupt("its positions do not match its head");
  list.pattern = remember(remembered, at);
  return list;
}

// ---- Sums

void KylixMerge::configure(std::span<const KylixList> lists) {
  std::vector<std::uint32_t> all;
  of_.clear();
  for (const KylixList& list : lists) {
    of_.push_back(list.pattern);
    std::vector<std::uint32_t> both;
    both.reserve(all.size() + list.pattern->at.size());
    std::ranges::set_union(all, list.pattern->at, std::back_inserter(both));
    all = std::move(both);
  }
  remember(merged_, all);
  to_.assign(lists.size(), {});
  for (std::size_t j = 0; j < lists.size(); ++j) {
    if (of_[j]->at.size() == all.size()) continue;  // It has all places of the sum.
    std::size_t i = 0;
    for (const std::uint32_t place : of_[j]->at) {
      while (all[i] < place) ++i;
      to_[j].push_back(static_cast<std::uint32_t>(i));
    }
  }
}

KylixList KylixMerge::sum(std::span<const KylixList> lists) {
  if (!std::ranges::equal(of_, lists, {}, {}, &KylixList::pattern)) configure(lists);
  const std::size_t n = merged_->at.size();
  std::vector<std::vector<float>> terms(lists.size());
  for (std::size_t j = 0; j < lists.size(); ++j) {
    if (lists[j].value.size() == n) {
      terms[j] = lists[j].value;
      continue;
    }
    terms[j].assign(n, 0.0F);
    for (std::size_t k = 0; k < to_[j].size(); ++k) terms[j][to_[j][k]] = lists[j].value[k];
  }
  for (std::size_t d = 1; d < terms.size(); d *= 2)
    for (std::size_t j = 0; j + d < terms.size(); j += 2 * d) add(terms[j], terms[j + d]);
  return {merged_, std::move(terms[0])};
}

std::vector<std::uint64_t> kylix_degrees(std::uint64_t P, Elements n, double filled) {
  std::vector<std::uint64_t> degrees;
  auto elements = static_cast<double>(n.value());
  while (P > 1) {
    std::uint64_t d = P;
    const double bytes = sizeof(float) * filled * elements;
    while (d > 2 && bytes / static_cast<double>(d) < static_cast<double>(kKylixPacket)) d /= 2;
    degrees.push_back(d);
    P /= d;
    elements /= static_cast<double>(d);
    filled = 1 - std::pow(1 - filled, static_cast<double>(d));
  }
  return degrees;
}

// ---- What is remembered

KylixMemory& KylixMemories::of(const Group& group, const Cut& range,
                               std::vector<std::uint64_t> degrees) {
  if (group.id != group_ || group.view->generation != generation_) ranges_.clear();
  group_ = group.id;
  generation_ = group.view->generation;
  Hash members;
  for (const Member& member : group.view->members) members.add(member.node.value());
  const Key key{members.value(), range.at, range.n};
  const auto it = ranges_.find(key);
  if (it != ranges_.end() && it->second.degrees == degrees) return it->second;
  std::erase_if(ranges_, [&](const auto& entry) {
    const Key& old = entry.first;
    return old.members == key.members && old.at < range.at + range.n && range.at < old.at + old.n;
  });
  KylixMemory& memory = ranges_[key];
  for (const std::uint64_t d : degrees) {
    KylixMemory::Layer& layer = memory.layers.emplace_back();
    layer.sent.resize(d);
    layer.got.resize(d);
    layer.gathered.resize(d);
  }
  memory.degrees = std::move(degrees);
  return memory;
}

}  // namespace shoal
