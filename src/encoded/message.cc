#include "encoded/message.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "base/error.h"

namespace shoal {
namespace {

// Shorter pieces are not encoded: scales and counts would take as many bytes.
constexpr std::uint64_t kShort = 64;

constexpr std::size_t kPieceHead = sizeof(std::uint32_t);

}  // namespace

MessageForm::MessageForm(Cuts pieces, const Encoding& encoding)
    : pieces_(std::move(pieces)), plain_(make_codec(Encoding{})) {
  Elements N;
  for (const Cut& cut : pieces_) {
    SHOAL_CHECK_EQ(cut.at, N);
    N += cut.n;
  }
  choose(encoding);
}

Elements MessageForm::elements() const {
  return pieces_.empty() ? Elements(0) : pieces_.back().at + pieces_.back().n;
}

void MessageForm::choose(const Encoding& encoding) {
  const std::vector<Encoding> all(pieces_.size(), encoding);
  choose(all);
}

void MessageForm::choose(std::span<const Encoding> of_pieces) {
  SHOAL_CHECK_EQ(of_pieces.size(), pieces_.size());
  kinds_.clear();
  codecs_.clear();
  kind_of_.clear();
  for (const Encoding& encoding : of_pieces) {
    const auto kind = std::ranges::find(kinds_, encoding);
    kind_of_.push_back(static_cast<std::size_t>(kind - kinds_.begin()));
    if (kind != kinds_.end()) continue;
    kinds_.push_back(encoding);
    codecs_.push_back(make_codec(encoding));
  }
}

const Codec& MessageForm::codec_of(std::size_t piece, Elements n) const {
  return n.value() < kShort ? *plain_ : *codecs_[kind_of_[piece]];
}

Bytes MessageForm::most(const Cut& place) const {
  std::size_t size = 0;
  for_pieces(place, [&](std::size_t piece, const Cut& cut) {
    size += with_head(codec_of(piece, cut.n).bound(cut.n.value()));
  });
  return Bytes(size);
}

Bytes MessageForm::expected(const Cut& place) const {
  std::size_t size = 0;
  for_pieces(place, [&](std::size_t piece, const Cut& cut) {
    size += with_head(codec_of(piece, cut.n).expected(cut.n.value()));
  });
  return Bytes(size);
}

std::byte* MessageForm::put_head(std::byte* at, std::size_t encoded) {
  const auto head = static_cast<std::uint32_t>(encoded);
  std::memcpy(at, &head, kPieceHead);
  return at + kPieceHead;
}

void MessageForm::put_together(ConstBuf message, const Cut& place, std::span<float> out,
                               NodeId from, bool add) const {
  const std::span<const std::byte> bytes = message.bytes();
  std::size_t at = 0;
  const auto corrupt = [&](std::string_view what) {
    return Corrupt(fmt::format("node {} sent {} bytes for {} elements at {}: {}", from,
                               bytes.size(), place.n, place.at, what));
  };
  for_pieces(place, [&](std::size_t piece, const Cut& cut) {
    if (bytes.size() - at < kPieceHead) throw corrupt("it ends before its last piece");
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data() + at, kPieceHead);
    if (bytes.size() - at < with_head(size)) throw corrupt("it ends within a piece");
    const std::span<const std::byte> in = bytes.subspan(at + kPieceHead, size);
    const std::span<float> to = out.subspan((cut.at - place.at).value(), cut.n.value());
    try {
      const Codec& codec = codec_of(piece, cut.n);
      if (add) {
        codec.decode_add(in, to);
      } else {
        codec.decode(in, to);
      }
    } catch (const Corrupt& error) {
      throw corrupt(error.what());
    }
    at += with_head(size);
  });
  if (at != bytes.size()) throw corrupt("bytes follow its last piece");
}

}  // namespace shoal
