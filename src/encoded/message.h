// MessageForm: the form of a message of encoded numbers, with a codec for each piece of the
// parameters.
//
// A message has the pieces of its range in order, each as its size in four bytes, its bytes, and
// padding to four. Pieces are tensors of the learner, or their parts in the range; short ones are
// not encoded.
//
// Cost: that of the codec, plus 4 bytes a piece.
// Failure: a malformed message is Corrupt, with its sender.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/types.h"
#include "codec/codec.h"
#include "codec/encoding.h"
#include "runtime/buffer.h"
#include "runtime/range.h"

namespace shoal {

// Thread safety: for reading; only the owner may choose encodings.
class MessageForm {
 public:
  // `pieces`: of all elements, end to end.
  MessageForm(Cuts pieces, const Encoding& encoding);

  // Another encoding for all pieces, or for each.
  void choose(const Encoding& encoding);
  void choose(std::span<const Encoding> of_pieces);

  const Cuts& pieces() const { return pieces_; }
  Elements elements() const;
  // The codec for n elements of a piece.
  const Codec& codec_of(std::size_t piece, Elements n) const;
  const Encoding& encoding_of(std::size_t piece) const { return kinds_[kind_of_[piece]]; }
  // Whether some piece adds what was not sent to the next gradient.
  bool keeps_residual() const { return std::ranges::any_of(kinds_, &Encoding::feedback); }
  // f(the piece, its part in the range)
  template <class F>
  void for_pieces(const Cut& place, F f) const;

  // The maximum size of the message of a range, and its expected size.
  Bytes most(const Cut& place) const;
  Bytes expected(const Cut& place) const;
  // Bytes of an encoded piece, with its size and padding.
  static std::size_t with_head(std::size_t encoded) {
    return sizeof(std::uint32_t) + (encoded + 3) / 4 * 4;
  }
  // Writes the size of a piece; its bytes follow.
  static std::byte* put_head(std::byte* at, std::size_t encoded);

  // out = the decoded message of the range; or adds it to `out`.
  void decode(ConstBuf message, const Cut& place, std::span<float> out, NodeId from) const {
    put_together(message, place, out, from, false);
  }
  void decode_add(ConstBuf message, const Cut& place, std::span<float> out, NodeId from) const {
    put_together(message, place, out, from, true);
  }

 private:
  void put_together(ConstBuf message, const Cut& place, std::span<float> out, NodeId from,
                    bool add) const;

  Cuts pieces_;
  std::vector<std::size_t> kind_of_;  // by piece: among kinds_
  std::vector<Encoding> kinds_;
  std::vector<std::unique_ptr<Codec>> codecs_;  // of these
  std::unique_ptr<Codec> plain_;
};

template <class F>
void MessageForm::for_pieces(const Cut& place, F f) const {
  const Elements end = place.at + place.n;
  auto piece = std::ranges::upper_bound(pieces_, place.at, {}, &Cut::at);
  if (piece != pieces_.begin()) --piece;
  for (; piece != pieces_.end() && piece->at < end; ++piece) {
    const Elements from = std::max(piece->at, place.at);
    const Elements to = std::min(piece->at + piece->n, end);
    if (from < to) f(static_cast<std::size_t>(piece - pieces_.begin()), Cut{from, to - from});
  }
}

}  // namespace shoal
