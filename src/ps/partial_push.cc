#include "ps/partial_push.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

// A whole shard and a head: nothing that is packed is longer.
Elements part_most(const ShardCut& cut) { return cut.n + Elements(kPartHeadWords); }

// Of the elements that are not 0, the `most` with the largest `size`; of equals the first.
template <class Size>
void keep_largest(std::vector<std::uint32_t>& chosen, std::uint64_t most, const Size& size) {
  if (chosen.size() <= most) return;
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const float x = size(a), y = size(b);
    return x > y || (x == y && a < b);
  };
  std::ranges::nth_element(chosen, chosen.begin() + static_cast<std::ptrdiff_t>(most), before);
  chosen.resize(most);
  std::ranges::sort(chosen);
}

}  // namespace

PartialPush::PartialPush(Node& node, const ParameterServerOptions& ps,
                         const std::vector<ShardCut>& cuts, Substance substance, bool mean)
    : node_(node),
      serving_(ps),
      cuts_(cuts),
      mean_(mean),
      sum_(cuts.back().at + cuts.back().n, substance),
      outgoing_(cuts.size()) {
  constexpr std::uint64_t kElementsMax = std::uint64_t{1} << 30U;
  SHOAL_CHECK_LT(sum_.size().value(), kElementsMax, "keys have 32 bits");
  budget_ = budget_of(ps.filter);
}

Task<void> PartialPush::add(Range g, std::uint64_t samples) {
  const bool turned = mean_ && left_ > 0 && samples != samples_;
  const float factor = turned ? static_cast<float>(samples) / static_cast<float>(samples_) : 1;
  samples_ = samples;
  const std::span<float> sum = sum_.all().data();
  const std::span<const float> more = g.data();
  co_await in_slices(node_.env, Work::Reduce, g.n.value(), sum.empty(), Order::Forward, 1,
                     [&](std::size_t from, std::size_t to) {
                       for (std::size_t i = from; i < to; ++i) sum[i] = sum[i] * factor + more[i];
                     });
}

// So that their parts, with a head each, stay within it.
std::uint64_t PartialPush::allowed(Bytes budget) const {
  const std::uint64_t heads = part_bytes(0, false).value() * cuts_.size();
  const std::uint64_t each = part_bytes(1, false).value() - part_bytes(0, false).value();
  const std::uint64_t N = sum_.size().value();
  if (budget.value() >= heads + N * sizeof(float)) return N;
  if (budget.value() >= heads + each) return (budget.value() - heads) / each;
  return budget.value() >= part_bytes(1, false).value() ? 1 : 0;
}

Task<void> PartialPush::choose(Now now) {
  std::uint64_t most = sum_.size().value();
  if (budget_) {
    const Bytes wanted = part_bytes(now.last ? most : 0, false);
    if (now.last) co_await node_.env.sleep(budget_->until(node_.env.now(), wanted));
    most = allowed(budget_->left(node_.env.now()));
  }
  ++pushes_;
  const bool phantom = sum_.phantom();
  co_await node_.env.work(Work::Encode, sum_.size(), [&] {
    if (!phantom) select(now, most);
  });
  for (std::uint32_t k = 0; k < cuts_.size(); ++k) {
    const bool known = outgoing_[k].sent.number > 0 && outgoing_[k].sent.at == outgoing_[k].keys.at;
    co_await node_.env.work(Work::Encode, Elements(outgoing_[k].keys.at.size()), [&] {
      if (!phantom) pack(k, known);
    });
  }
  if (phantom) pack_phantom(most);
  if (!budget_) co_return;
  Bytes bytes{};
  for (const Outgoing& out : outgoing_) bytes += out.packed.bytes().size;
  budget_->spend(node_.env.now(), bytes);
}

void PartialPush::select(const Now& now, std::uint64_t most) {
  const std::span<const float> sum = sum_.all().data(), w = now.w.data();
  const double scale = now.eta / (mean_ ? static_cast<double>(samples_) : 1);
  const auto* const gaia = std::get_if<filter::Significant>(&serving_.filter);
  const bool significant = gaia != nullptr && !now.last;
  const double threshold =
      significant ? gaia->threshold / std::sqrt(static_cast<double>(now.t)) : 0;
  const auto goes = [&](std::size_t i) {
    return sum[i] != 0 && (!significant || std::abs(scale * static_cast<double>(sum[i])) >
                                               threshold * std::abs(static_cast<double>(w[i])));
  };
  std::vector<std::uint32_t> chosen;
  left_ = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (sum[i] != 0) ++left_;
    if (goes(i)) chosen.push_back(static_cast<std::uint32_t>(i));
  }
  if (std::holds_alternative<filter::Magnitude>(serving_.filter)) {
    // Of those that are 0 now by their own size.
    constexpr float kAlmostNothing = 1e-12F;
    keep_largest(chosen, most, [&](std::uint32_t i) {
      const float size = std::abs(sum[i]) / (std::abs(w[i]) + kAlmostNothing);
      return std::isnan(size) ? std::numeric_limits<float>::infinity() : size;
    });
  } else if (std::holds_alternative<filter::Fifo>(serving_.filter) && chosen.size() > most) {
    std::ranges::rotate(chosen, std::ranges::lower_bound(chosen, next_));
    chosen.resize(most);
    if (most > 0) next_ = chosen.back() + 1;
    std::ranges::sort(chosen);
  }
  take(chosen);
}

// Out of G, and to their shards.
void PartialPush::take(std::span<const std::uint32_t> chosen) {
  const std::span<float> sum = sum_.all().data();
  left_ -= chosen.size();
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    const auto begin = static_cast<std::uint32_t>(cuts_[k].at.value());
    const std::uint64_t end = begin + cuts_[k].n.value();
    Outgoing& out = outgoing_[k];
    out.keys = {pushes_, {}};
    out.values.clear();
    for (; !chosen.empty() && chosen.front() < end; chosen = chosen.subspan(1)) {
      const std::uint32_t i = chosen.front();
      out.keys.at.push_back(i - begin);
      out.values.push_back(sum[i]);
      sum[i] = 0;
    }
  }
}

void PartialPush::pack(std::uint32_t shard, bool known) {
  Outgoing& out = outgoing_[shard];
  out.packed = Range();
  if (out.keys.at.empty()) return;
  if (known) out.keys.number = out.sent.number;
  const std::vector<std::uint32_t> words =
      pack_part(cuts_[shard], out.keys, out.values, {known, serving_.compress});
  // A list has gone when it was worth less than the whole shard.
  if (!known) out.sent = 2 * out.keys.at.size() < cuts_[shard].n.value() ? out.keys : Keys();
  if (!out.room) out.room.emplace(node_.endpoint, part_most(cuts_[shard]), Substance::Real);
  out.packed = out.room->range(Elements(0), Elements(words.size()));
  std::memcpy(out.packed.bytes().data, words.data(), words.size() * sizeof(words[0]));
}

Task<Range> PartialPush::packed_with_keys(std::uint32_t shard) {
  node_.env.probe("ps: the keys of a push were not known");
  outgoing_[shard].keys.number = ++pushes_;
  co_await node_.env.work(Work::Encode, Elements(outgoing_[shard].keys.at.size()),
                          [&] { pack(shard, false); });
  co_return outgoing_[shard].packed;
}

// As many of each shard as of all.
void PartialPush::pack_phantom(std::uint64_t most) {
  const std::uint64_t N = sum_.size().value();
  for (std::uint32_t k = 0; k < cuts_.size(); ++k) {
    const std::uint64_t n = cuts_[k].n.value();
    const std::uint64_t elements = most == N ? n : n * most / N;
    Outgoing& out = outgoing_[k];
    if (!out.room) out.room.emplace(node_.endpoint, part_most(cuts_[k]), Substance::Phantom);
    const std::uint64_t words = std::min(kPartHeadWords + 2 * elements, kPartHeadWords + n);
    out.packed = elements == 0 ? Range() : out.room->range(Elements(0), Elements(words));
  }
}

}  // namespace shoal
