// Encoder: encodes the gradients of one worker, decodes those of others, and keeps the residual
// between steps. Seide et al., "1-bit stochastic gradient descent", Interspeech 2014; Karimireddy
// et al., arXiv:1901.09847 (error feedback).
//
//   v <- g + e;   send c(v);   e <- v - c(v)
//
// In every exchange each element is encoded exactly once a step by every worker: as its own
// gradient, as a partial sum that it passes on, or as the sum of a part that it owns
// (all_reduce.h). So there is one residual for each element, also where sums are encoded again, and
// the owners of parts may change from view to view. Invariant: all sent values plus all residuals
// are the sum of all gradients.
//
// With momentum correction (Lin et al., "Deep gradient compression", ICLR 2018) the velocity is
// accumulated: u <- mu u + g; v <- e + u; where an element was sent v begins anew, and u as well
// where it may be late: not in pieces that go whole, nor in warm-up (codec/dgc.h). A gradient may
// be clipped before, tensor by tensor, as the authors' program does: its norm as a whole is not
// known before the first tensors are sent.
//
// message.h defines messages. Pieces whose encoding keeps no residual send the residual of an
// earlier encoding, and keep none.
//
// Cost: that of the messages. State: 2N numbers with error feedback, 4N with momentum.
// Failure: an aborted step changes nothing: the state after it is written elsewhere, and counts
// from commit() on. A lost worker's residual is lost with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "codec/codec.h"
#include "codec/encoding.h"
#include "encoded/kylix.h"
#include "encoded/message.h"
#include "learner/learner.h"
#include "runtime/endpoint.h"
#include "runtime/range.h"

namespace shoal {

struct EncoderOptions {
  Encoding encoding{};  // of all pieces, until choose() is called
  Seed seed{};
  double momentum = 0;  // mu of the momentum correction; 0: none
};

// Thread safety: a step's encoding may go on elsewhere (as work), one call at a time; all else is
// the node's thread.
class Encoder final : public GradientSink {
 public:
  // `pieces`: of N elements, end to end.
  Encoder(Endpoint& endpoint, EncoderOptions options, Cuts pieces, Substance substance);

  // Sets the encoding of each piece, from the next step on; residuals are kept.
  void choose(std::span<const Encoding> of_pieces);
  // A step begins, or the same again. Whatever was sent before has arrived, or its view is retired.
  void begin(Step step, double epoch, Rank rank);
  // From now on, of what is encoded in this step: each piece is scaled so that the sum of all
  // workers' has about this norm at most. Lin et al. 2018 (dgc), before momentum is gathered.
  void clip(double norm, std::uint64_t workers) {
    clip_norm_ = norm;
    workers_ = workers;
  }
  // Before the first piece is taken, on the node's thread.
  void prepare_to_take();
  // Encodes the gradient of a whole piece, on the thread that has computed it.
  void take(Elements at, std::span<const float> g) override;
  // The messages since begin() were sent and count.
  void commit();

  // The message of a range of whole pieces, when they were all taken; else nothing.
  std::optional<ConstBuf> taken(const Range& g);
  // The maximum size of the message of a range, and its expected size.
  Bytes most(const Range& g) const { return form_.most({g.at, g.n}); }
  Bytes expected(const Range& g) const { return form_.expected({g.at, g.n}); }
  // Writes the message of g plus residual. REQUIRES: once a step for every element.
  Bytes encode(const Range& g, MutBuf out);
  // Marks a range that encode() has written, on the node's thread.
  void encoded(const Range& g) { done_.push_back({g.at, g.n}); }
  // to = the decoded message; or adds it to `to`. A malformed message is Corrupt, with its sender.
  void decode(ConstBuf message, const Range& to, NodeId from) const {
    form_.decode(message, {to.at, to.n}, to.data(), from);
  }
  void decode_add(ConstBuf message, const Range& to, NodeId from) const {
    form_.decode_add(message, {to.at, to.n}, to.data(), from);
  }
  // There is no other member: g <- g + e.
  void keep(const Range& g);

  // Memory for a message of this step, until the next begins.
  MutBuf room(Bytes size);

  // The positions that exchanges of lists remember, and whether the encoding sends those of the
  // last step again.
  KylixMemories& kylix() { return kylix_; }
  bool places_persist() const {
    const std::uint32_t hold = traits(options_.encoding).hold;
    return hold > 1 && step_.value() % hold != 0;
  }

  // The residual; empty without error feedback.
  Range residual() { return e_[now_] ? e_[now_]->all() : Range{}; }
  Range velocity() { return u_[now_] ? u_[now_]->all() : Range{}; }
  const Encoding& encoding() const { return options_.encoding; }
  bool phantom() const { return substance_ == Substance::Phantom; }

 private:
  // The message of a piece that is taken whole.
  struct Taken {
    std::size_t place = 0;
    std::size_t size = 0;  // 0: not taken
  };
  void make_residuals();
  // Whether more is sent than in later epochs.
  bool warms_up() const {
    return traits(options_.encoding).gathers_momentum && form_.encoding_of(0) != options_.encoding;
  }
  std::span<const float> clipped(std::span<const float> g);
  // Encodes the part g of that piece, which begins at that position, with its residual.
  std::size_t encode_piece(std::size_t piece, Elements at, std::span<const float> g,
                           std::span<std::byte> out);

  Endpoint& endpoint_;
  EncoderOptions options_;
  Substance substance_;
  MessageForm form_;
  std::vector<Taken> taken_;                   // by piece
  std::array<std::optional<Arena>, 2> e_, u_;  // before the step and after it
  std::size_t now_ = 0;
  std::size_t outbox_size_ = 0;
  std::shared_ptr<std::byte> outbox_;  // of taken pieces
  struct Room {
    std::shared_ptr<std::byte> data;
    std::size_t size = 0;
  };
  std::deque<Room> rooms_;
  std::size_t rooms_used_ = 0;
  // The encodings of this step.
  Step step_;
  Rank rank_;
  double clip_norm_ = 0;  // 0: not clipped
  std::uint64_t workers_ = 1;
  std::vector<float> clipped_;
  std::vector<Cut> done_;
  KylixMemories kylix_;
};

}  // namespace shoal
