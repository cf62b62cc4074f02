#include "ps/encoded_push.h"

#include <algorithm>
#include <utility>

namespace shoal {
namespace {

// Messages are padded to numbers.
Elements words_of(Bytes bytes) { return Elements(bytes.value() / sizeof(float)); }

}  // namespace

EncodedPush::EncodedPush(Node& node, Cuts pieces, std::span<const Encoding> encodings,
                         const std::vector<ShardCut>& cuts, Substance substance)
    : node_(node),
      cuts_(cuts),
      encoder_(node.endpoint, {Encoding(), node.env.seed()}, std::move(pieces), substance),
      keeps_residual_(std::ranges::any_of(encodings, &Encoding::feedback)),
      outgoing_(cuts.size()) {
  encoder_.choose(encodings);
}

Task<void> EncodedPush::encode(Range g, std::uint64_t samples, std::uint64_t number) {
  samples_ = samples;
  waits_ = keeps_residual_;
  encoder_.begin(Step(number), 0, Rank(node_.id.value()));
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    const Range part = g.slice(cuts_[k].at, cuts_[k].n);
    Outgoing& out = outgoing_[k];
    const bool phantom = encoder_.phantom();
    if (!out.room)
      out.room.emplace(node_.endpoint, words_of(encoder_.most(part)),
                       phantom ? Substance::Phantom : Substance::Real);
    Bytes size = encoder_.expected(part);
    co_await node_.env.work(Work::Encode, part.n, [&] {
      if (!phantom) size = encoder_.encode(part, out.room->all().bytes());
    });
    encoder_.encoded(part);
    out.packed = out.room->range(Elements(0), words_of(size));
  }
  encoder_.commit();
}

Task<void> EncodedPush::release(Range g) {
  encoder_.begin(Step(0), 0, Rank(0));
  co_await node_.env.work(Work::Reduce, g.n, [&] {
    std::ranges::fill(g.data(), 0.0F);
    encoder_.keep(g);
  });
  encoder_.commit();
  waits_ = false;
}

}  // namespace shoal
