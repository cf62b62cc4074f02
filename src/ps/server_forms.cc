// A fifth of a server: the gradient of a push, in whichever form it comes, and parameters in the
// form in which they go.
#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "encoded/message.h"
#include "ps/factored.h"
#include "ps/pushed_part.h"
#include "ps/server.h"
#include "runtime/slices.h"

namespace shoal {

// None: its keys are not known here.
Task<std::optional<Gradient>> Server::formed(NodeId from, const Ask& ask, Gradient packed) {
  std::optional<Gradient> dense;
  if (ask.form == Ask::Form::Encoded && !packed.bytes.phantom()) {
    dense = co_await formed_of_encoded(from, ask.shard, packed);
    co_return dense;
  }
  std::optional<std::string> wrong;
  try {
    if (packed.bytes.phantom() || ask.form == Ask::Form::Nothing) {
      dense = co_await nothing(ask.shard);
    } else if (ask.form == Ask::Form::Factored) {
      dense = co_await formed_of_factors(ask.shard, packed);
    } else {
      dense = co_await formed_of_part(from, ask, packed);
    }
  } catch (const Corrupt& error) {
    wrong = error.what();
  }
  if (wrong) throw Corrupt(fmt::format("of node {}: {}", from, *wrong));
  co_return dense;
}

Task<Gradient> Server::nothing(std::uint32_t shard) {
  auto own = std::make_shared<Arena>(node_.endpoint, cuts_[shard].n, substance_);
  const std::span<float> g = own->all().data();
  co_await node_.env.work(Work::Reduce, own->size(), [&] { std::ranges::fill(g, 0.0F); });
  Gradient dense{own->bytes(), own};
  co_return dense;
}

Task<Gradient> Server::formed_of_factors(std::uint32_t shard, const Gradient& packed) {
  const ShardCut& cut = cuts_[shard];
  const std::span<const float> words(reinterpret_cast<const float*>(packed.bytes.data),
                                     packed.bytes.size.value() / sizeof(float));
  const Packed there(cut, words);
  auto own = std::make_shared<Arena>(node_.endpoint, cut.n, substance_);
  const std::span<float> g = own->all().data();
  co_await in_slices(node_.env, Work::Reduce, cut.n.value(), g.empty(), Order::Forward, 1,
                     [&](std::size_t begin, std::size_t end) { there.form(begin, end, g); });
  Gradient dense{own->bytes(), own};
  co_return dense;
}

Task<std::optional<Gradient>> Server::formed_of_part(NodeId from, const Ask& ask,
                                                     const Gradient& packed) {
  const ShardCut& cut = cuts_[ask.shard];
  const std::span<const std::uint32_t> words(
      reinterpret_cast<const std::uint32_t*>(packed.bytes.data),
      packed.bytes.size.value() / sizeof(std::uint32_t));
  // A view may come meanwhile, and the keys of a lost worker go.
  Keys keys = held_[ask.shard].keys[{from, ask.asker}];
  std::optional<PushedPart> there;
  co_await node_.env.work(Work::Decode, Elements(words.size()),
                          [&] { there.emplace(cut, words, keys); });
  if (!there->has_keys()) co_return std::nullopt;
  auto own = std::make_shared<Arena>(node_.endpoint, cut.n, substance_);
  const std::span<float> g = own->all().data();
  co_await in_slices(node_.env, Work::Decode, cut.n.value(), g.empty(), Order::Forward, 1,
                     [&](std::size_t begin, std::size_t end) { there->form(begin, end, g); });
  there.reset();
  held_[ask.shard].keys[{from, ask.asker}] = std::move(keys);
  Gradient dense{own->bytes(), own};
  co_return dense;
}

Task<Gradient> Server::formed_of_encoded(NodeId from, std::uint32_t shard,
                                         const Gradient& message) {
  const ShardCut& cut = cuts_[shard];
  if (options_.form == nullptr)
    throw Corrupt(fmt::format("node {} sent an encoded push, and none should be", from));
  auto own = std::make_shared<Arena>(node_.endpoint, cut.n, substance_);
  const std::span<float> g = own->all().data();
  co_await node_.env.work(Work::Decode, cut.n, [&] {
    options_.form->decode(message.bytes, {cut.at, cut.n}, g, from);
  });
  Gradient dense{own->bytes(), own};
  co_return dense;
}

// ---- Parameters

// Each piece is encoded once for all who read this version.
Task<void> Server::publish_encoded(NodeId to, Tag tag, Answer answer, std::uint32_t shard,
                                   Version& version, TaskGroup& tasks) {
  for (std::uint64_t i = 0; i < pieces_of(version.w.size()); ++i) {
    const Range piece = piece_of(version.w.all(), i);
    while (version.made < piece.at + piece.n) co_await version.more.wait();
    const ConstBuf message = co_await encoded_piece(answer.version, shard, i, version);
    tasks.spawn(as_task(node_.endpoint.publish(to, tag, message)));
  }
}

Task<ConstBuf> Server::encoded_piece(std::uint64_t number, std::uint32_t shard, std::uint64_t piece,
                                     Version& version) {
  const Range w = piece_of(version.w.all(), piece);
  const bool phantom = version.w.phantom();
  if (!version.encoded.contains(piece)) {
    Version::Encoded made{
        nullptr, Bytes(phantom ? pulls_->expected(w.n.value()) : pulls_->bound(w.n.value()))};
    if (!phantom) made.data = node_.endpoint.allocate(made.size);
    co_await node_.env.work(Work::Encode, w.n, [&] {
      if (phantom) return;
      const std::span<const float> values = w.data();
      const DrawKey key{node_.env.seed(), number, (cuts_[shard].at + w.at).value()};
      made.size =
          Bytes(pulls_->encode({values, values}, {made.data.get(), made.size.value()}, key));
    });
    version.encoded.try_emplace(piece, std::move(made));  // Another may have been faster.
  }
  const Version::Encoded& there = version.encoded.at(piece);
  co_return ConstBuf{there.data.get(), there.size};
}

}  // namespace shoal
