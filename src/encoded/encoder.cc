#include "encoded/encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "codec/dgc_step.h"

namespace shoal {
Encoder::Encoder(Endpoint& endpoint, EncoderOptions options, Cuts pieces, Substance substance)
    : endpoint_(endpoint),
      options_(options),
      substance_(substance),
      form_(std::move(pieces), at_epoch(options.encoding, 0)),
      taken_(form_.pieces().size()) {
  make_residuals();
}

void Encoder::choose(std::span<const Encoding> of_pieces) {
  form_.choose(of_pieces);
  make_residuals();
}

void Encoder::make_residuals() {
  if (e_[0] || (!form_.keeps_residual() && options_.momentum == 0)) return;
  const Elements N = form_.elements();
  for (auto& e : e_) e.emplace(N, substance_);
  if (options_.momentum > 0)
    for (auto& u : u_) u.emplace(N, substance_);
}

// Reserves room for the messages of taken pieces.
void Encoder::prepare_to_take() {
  std::size_t place = 0;
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const Elements n = form_.pieces()[i].n;
    taken_[i].place = place;
    place += MessageForm::with_head(form_.codec_of(i, n).bound(n.value()));
  }
  if (substance_ == Substance::Phantom || place <= outbox_size_) return;
  outbox_ = endpoint_.allocate(Bytes(place));
  outbox_size_ = place;
}

void Encoder::begin(Step step, double epoch, Rank rank) {
  step_ = step;
  rank_ = rank;
  clip_norm_ = 0;
  if (traits(options_.encoding).gathers_momentum) form_.choose(at_epoch(options_.encoding, epoch));
  done_.clear();
  rooms_used_ = 0;
  for (Taken& taken : taken_) taken.size = 0;
}

std::size_t Encoder::encode_piece(std::size_t piece, Elements at, std::span<const float> g,
                                  std::span<std::byte> out) {
  const Codec& codec = form_.codec_of(piece, Elements(g.size()));
  // If all members draw alike, encoded forms can be summed.
  const std::uint64_t who = codec.summable() ? 0 : rank_.value();
  const std::uint32_t hold = traits(form_.encoding_of(piece)).hold;
  const std::uint64_t draw = hold > 1 ? step_.value() / hold : step_.value();
  const DrawKey key{options_.seed, draw, at.value() << 16U | who};
  if (!e_[0]) return codec.encode({g, g}, out, key);
  const auto of = [&](std::optional<Arena>& arena) {
    return arena->range(at, Elements(g.size())).data();
  };
  const std::span<float> before = of(e_[now_]), after = of(e_[1 - now_]);
  if (!u_[0] && form_.encoding_of(piece).feedback)
    return codec.encode_carried(g, before, after, out, key);
  if (!u_[0]) {
    for (std::size_t i = 0; i < g.size(); ++i) after[i] = g[i] + before[i];
    const std::size_t size = codec.encode({after, g}, out, key);
    std::ranges::fill(after, 0.0F);
    return size;
  }
  const std::span<float> u = of(u_[now_]), next = of(u_[1 - now_]);
  std::ranges::copy(u, next.begin());
  std::ranges::copy(before, after.begin());
  if (clip_norm_ > 0) g = clipped(g);
  dgc_gather(next, after, g, static_cast<float>(options_.momentum));
  const std::size_t size = codec.encode_with_residual({after, g}, after, out, key);
  // Tensors that are sent whole, or during warm-up, are not late: they have plain momentum.
  if (codec.sparse() && !warms_up()) dgc_forget(codec, out.first(size), next);
  return size;
}

std::span<const float> Encoder::clipped(std::span<const float> g) {
  double squares = 0;
  for (const float x : g) squares += static_cast<double>(x) * static_cast<double>(x);
  const auto by = static_cast<float>(dgc_clip(std::sqrt(squares), clip_norm_, workers_));
  if (by == 1) return g;
  clipped_.resize(g.size());
  for (std::size_t i = 0; i < g.size(); ++i) clipped_[i] = by * g[i];
  return clipped_;
}

void Encoder::take(Elements at, std::span<const float> g) {
  const Cuts& pieces = form_.pieces();
  const auto piece = std::ranges::lower_bound(pieces, at, {}, &Cut::at);
  SHOAL_CHECK(piece != pieces.end() && piece->at == at && piece->n.value() == g.size(),
              "{} elements at {} are not a piece", g.size(), at);
  const auto i = static_cast<std::size_t>(piece - pieces.begin());
  std::byte* const to = outbox_.get() + taken_[i].place;
  const std::size_t room = form_.codec_of(i, piece->n).bound(g.size());
  const std::size_t size = encode_piece(i, at, g, {to + MessageForm::with_head(0), room});
  MessageForm::put_head(to, size);
  taken_[i].size = MessageForm::with_head(size);
}

// Its pieces lie side by side, but for what they are shorter than they might have been.
std::optional<ConstBuf> Encoder::taken(const Range& g) {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  bool all = true;
  form_.for_pieces({g.at, g.n}, [&](std::size_t i, const Cut& cut) {
    const Taken& taken = taken_[i];
    all = all && form_.pieces()[i].n == cut.n && taken.size > 0;
    if (!all) return;
    std::byte* const from = outbox_.get() + taken.place;
    if (begin == nullptr) begin = end = from;
    if (end != from) std::memmove(end, from, taken.size);
    end += taken.size;
  });
  if (!all) return std::nullopt;
  encoded(g);
  return ConstBuf{begin, Bytes(static_cast<std::uint64_t>(end - begin))};
}

Bytes Encoder::encode(const Range& g, MutBuf out) {
  std::size_t at = 0;
  form_.for_pieces({g.at, g.n}, [&](std::size_t i, const Cut& cut) {
    const std::size_t room = form_.codec_of(i, cut.n).bound(cut.n.value());
    SHOAL_CHECK_LE(at + MessageForm::with_head(room), out.size.value());
    std::byte* const to = out.data + at;
    const std::span<float> values = g.slice(cut.at - g.at, cut.n).data();
    const std::size_t size =
        encode_piece(i, cut.at, values, {to + MessageForm::with_head(0), room});
    MessageForm::put_head(to, size);
    at += MessageForm::with_head(size);
  });
  return Bytes(at);
}

void Encoder::keep(const Range& g) {
  encoded(g);
  if (!e_[0] || phantom()) return;
  const std::span<float> to = g.data();
  const std::span<float> before = e_[now_]->range(g.at, g.n).data();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += before[i];
  std::ranges::fill(e_[1 - now_]->range(g.at, g.n).data(), 0.0F);
  if (!u_[0]) return;
  const std::span<float> u = u_[now_]->range(g.at, g.n).data();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += static_cast<float>(options_.momentum) * u[i];
  std::ranges::fill(u_[1 - now_]->range(g.at, g.n).data(), 0.0F);
}

void Encoder::commit() {
  if (!e_[0] || phantom()) return;
  // Pieces that were not encoded keep their residuals.
  std::ranges::sort(done_, {}, &Cut::at);
  Elements at;
  const auto carry = [&](Elements to) {
    for (auto* arrays : {&e_, &u_})
      if ((*arrays)[0] && to > at)
        copy((*arrays)[now_]->range(at, to - at).bytes(),
             (*arrays)[1 - now_]->range(at, to - at).bytes());
  };
  for (const Cut& cut : done_) {
    carry(cut.at);
    at = cut.at + cut.n;
  }
  carry(e_[0]->size());
  now_ = 1 - now_;
}

MutBuf Encoder::room(Bytes size) {
  if (phantom()) return {nullptr, size};
  if (rooms_used_ == rooms_.size()) rooms_.emplace_back();
  Room& room = rooms_[rooms_used_++];
  if (room.size < size.value()) {
    room.data = endpoint_.allocate(size);
    room.size = size.value();
  }
  return {room.data.get(), size};
}

}  // namespace shoal
