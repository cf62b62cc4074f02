#include "encoded/encoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "codec/dgc.h"

namespace shoal {
namespace {

// Shorter pieces are sent as they are: their scales and counts would be as long.
constexpr std::uint64_t kShort = 64;

constexpr std::size_t kHead = sizeof(std::uint32_t);
std::size_t padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

// dgc begins with more (codec/dgc.h).
Encoding at_epoch(Encoding encoding, double epoch) {
  if (encoding.kind == Encoding::Kind::Dgc)
    encoding.ratio = dgc_ratio(static_cast<std::uint64_t>(std::max(0.0, epoch)), encoding.ratio);
  return encoding;
}

void write_head(std::byte* at, std::size_t size) {
  const auto head = static_cast<std::uint32_t>(size);
  std::memcpy(at, &head, kHead);
}

}  // namespace

Encoder::Encoder(Endpoint& endpoint, EncoderOptions options, Cuts pieces, Substance substance)
    : endpoint_(endpoint),
      options_(options),
      substance_(substance),
      plain_(make_codec(Encoding{})) {
  Elements N;
  for (const Cut& cut : pieces) {
    SHOAL_CHECK_EQ(cut.at, N);
    N += cut.n;
    pieces_.push_back({cut.at, cut.n});
  }
  codecs_.push_back(make_codec(at_epoch(options.encoding, 0)));
  lay_out();
  if (!options_.encoding.feedback && options_.momentum == 0) return;
  for (auto& e : e_) e.emplace(N, substance_);
  if (options_.momentum > 0)
    for (auto& u : u_) u.emplace(N, substance_);
}

void Encoder::choose(std::span<const Encoding> of_pieces) {
  SHOAL_CHECK_EQ(of_pieces.size(), pieces_.size());
  std::vector<Encoding> kinds;
  codecs_.clear();
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    auto kind = std::ranges::find(kinds, of_pieces[i]);
    pieces_[i].codec = static_cast<std::size_t>(kind - kinds.begin());
    if (kind != kinds.end()) continue;
    kinds.push_back(of_pieces[i]);
    codecs_.push_back(make_codec(of_pieces[i]));
  }
  lay_out();
}

// Where the messages of pieces that are taken have room.
void Encoder::lay_out() {
  std::size_t place = 0;
  for (Piece& piece : pieces_) {
    piece.place = place;
    place += kHead + padded(codec_of(piece, piece.n).bound(piece.n.value()));
  }
  if (substance_ == Substance::Phantom || place <= outbox_size_) return;
  outbox_ = endpoint_.allocate(Bytes(place));
  outbox_size_ = place;
}

const Codec& Encoder::codec_of(const Piece& piece, Elements n) const {
  return n.value() < kShort ? *plain_ : *codecs_[piece.codec];
}

void Encoder::begin(Step step, double epoch, Rank rank) {
  step_ = step;
  rank_ = rank;
  if (options_.encoding.kind == Encoding::Kind::Dgc)
    codecs_[0] = make_codec(at_epoch(options_.encoding, epoch));
  done_.clear();
  rooms_used_ = 0;
  for (Piece& piece : pieces_) piece.size = 0;
}

// f(the piece, what of it lies in the range)
template <class F>
void Encoder::for_pieces(const Range& range, F f) const {
  const Elements end = range.at + range.n;
  auto piece = std::ranges::upper_bound(pieces_, range.at, {}, &Piece::at);
  if (piece != pieces_.begin()) --piece;
  for (; piece != pieces_.end() && piece->at < end; ++piece) {
    const Elements from = std::max(piece->at, range.at);
    const Elements to = std::min(piece->at + piece->n, end);
    if (from < to) f(*piece, Cut{from, to - from});
  }
}

Bytes Encoder::most(const Range& g) const {
  std::size_t size = 0;
  for_pieces(g, [&](const Piece& piece, const Cut& cut) {
    size += kHead + padded(codec_of(piece, cut.n).bound(cut.n.value()));
  });
  return Bytes(size);
}

Bytes Encoder::expected(const Range& g) const {
  std::size_t size = 0;
  for_pieces(g, [&](const Piece& piece, const Cut& cut) {
    size += kHead + padded(codec_of(piece, cut.n).expected(cut.n.value()));
  });
  return Bytes(size);
}

std::size_t Encoder::encode_piece(const Codec& codec, Elements at, std::span<const float> g,
                                  std::span<std::byte> out) {
  // What all members draw alike can be added up as it is.
  const std::uint64_t who = codec.summable() ? 0 : rank_.value();
  const DrawKey key{options_.seed, step_.value(), at.value() << 16U | who};
  if (!e_[0]) return codec.encode({g, g}, out, key);
  const auto of = [&](std::optional<Arena>& arena) {
    return arena->range(at, Elements(g.size())).data();
  };
  const std::span<float> before = of(e_[now_]), after = of(e_[1 - now_]);
  if (!u_[0]) {
    for (std::size_t i = 0; i < g.size(); ++i) after[i] = g[i] + before[i];
    return codec.encode_with_rest({after, g}, after, out, key);
  }
  const std::span<float> u = of(u_[now_]), next = of(u_[1 - now_]);
  std::ranges::copy(u, next.begin());
  std::ranges::copy(before, after.begin());
  dgc_gather(next, after, g, static_cast<float>(options_.momentum));
  const std::size_t size = codec.encode_with_rest({after, g}, after, out, key);
  if (codec.sparse()) {
    dgc_forget(codec, out.first(size), next);
  } else {
    std::ranges::fill(next, 0.0F);  // All of it was sent.
  }
  return size;
}

void Encoder::take(Elements at, std::span<const float> g) {
  const auto piece = std::ranges::lower_bound(pieces_, at, {}, &Piece::at);
  SHOAL_CHECK(piece != pieces_.end() && piece->at == at && piece->n.value() == g.size(),
              "{} elements at {} are no piece", g.size(), at);
  std::byte* const to = outbox_.get() + piece->place;
  const Codec& codec = codec_of(*piece, piece->n);
  const std::size_t size = encode_piece(codec, at, g, {to + kHead, codec.bound(g.size())});
  write_head(to, size);
  piece->size = kHead + padded(size);
}

// Its pieces lie side by side, but for what they are shorter than they might have been.
std::optional<ConstBuf> Encoder::taken(const Range& g) {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  bool all = true;
  for_pieces(g, [&](const Piece& piece, const Cut& cut) {
    all = all && piece.n == cut.n && piece.size > 0;
    if (!all) return;
    std::byte* const from = outbox_.get() + piece.place;
    if (begin == nullptr) begin = end = from;
    if (end != from) std::memmove(end, from, piece.size);
    end += piece.size;
  });
  if (!all) return std::nullopt;
  encoded(g);
  return ConstBuf{begin, Bytes(static_cast<std::uint64_t>(end - begin))};
}

Bytes Encoder::encode(const Range& g, MutBuf out) {
  std::size_t at = 0;
  for_pieces(g, [&](const Piece& piece, const Cut& cut) {
    const Codec& codec = codec_of(piece, cut.n);
    const std::size_t room = codec.bound(cut.n.value());
    SHOAL_CHECK_LE(at + kHead + padded(room), out.size.value());
    std::byte* const to = out.data + at;
    const std::span<float> values = g.slice(cut.at - g.at, cut.n).data();
    const std::size_t size = encode_piece(codec, cut.at, values, {to + kHead, room});
    write_head(to, size);
    at += kHead + padded(size);
  });
  return Bytes(at);
}

void Encoder::put_together(ConstBuf message, const Range& to, NodeId from, bool add) const {
  const std::span<const std::byte> bytes = message.bytes();
  std::size_t at = 0;
  const auto corrupt = [&](std::string_view what) {
    return Corrupt(fmt::format("node {} sent {} bytes for {} elements at {}: {}", from,
                               bytes.size(), to.n, to.at, what));
  };
  for_pieces(to, [&](const Piece& piece, const Cut& cut) {
    if (bytes.size() - at < kHead) throw corrupt("it ends before its last piece");
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data() + at, kHead);
    at += kHead;
    if (bytes.size() - at < padded(size)) throw corrupt("it ends within a piece");
    const std::span<const std::byte> in = bytes.subspan(at, size);
    const std::span<float> out = to.slice(cut.at - to.at, cut.n).data();
    try {
      if (!add) std::ranges::fill(out, 0.0F);
      codec_of(piece, cut.n).decode_add(in, out);
    } catch (const Corrupt& error) {
      throw corrupt(error.what());
    }
    at += padded(size);
  });
  if (at != bytes.size()) throw corrupt("there is more behind its last piece");
}

void Encoder::decode(ConstBuf message, const Range& to, NodeId from) const {
  put_together(message, to, from, false);
}
void Encoder::decode_add(ConstBuf message, const Range& to, NodeId from) const {
  put_together(message, to, from, true);
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
  // What was not encoded stays as it was.
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
