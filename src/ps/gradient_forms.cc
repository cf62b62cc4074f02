#include "ps/gradient_forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "encoded/message.h"
#include "ps/factored.h"
#include "runtime/slices.h"

namespace shoal {

Task<std::optional<Gradient>> GradientForms::dense(Holder from, std::uint32_t shard,
                                                   GradientForm form, Gradient packed) {
  using Kind = GradientForm::Kind;
  std::optional<Gradient> made;
  if (form.kind == Kind::Encoded && !packed.bytes.phantom()) {
    made = co_await of_encoded(from.node, shard, packed);
    co_return made;
  }
  std::optional<std::string> wrong;
  try {
    if (packed.bytes.phantom() || !form.sent()) {
      made = co_await zero(shard);
    } else if (form.kind == Kind::Factored) {
      made = co_await of_factors(shard, packed);
    } else {
      made = co_await of_part(from, shard, packed);
    }
  } catch (const Corrupt& error) {
    wrong = error.what();
  }
  if (wrong) throw Corrupt(fmt::format("of node {}: {}", from.node, *wrong));
  co_return made;
}

Task<Gradient> GradientForms::zero(std::uint32_t shard) {
  const Node& node = server_.node;
  auto own = std::make_shared<Arena>(node.endpoint, server_.cuts[shard].n, server_.substance);
  const std::span<float> g = own->all().data();
  co_await node.env.work(Work::Reduce, own->size(), [&] { std::ranges::fill(g, 0.0F); });
  Gradient made{own->bytes(), own};
  co_return made;
}

Task<Gradient> GradientForms::of_factors(std::uint32_t shard, const Gradient& packed) {
  const Node& node = server_.node;
  const ShardCut& cut = server_.cuts[shard];
  const std::span<const float> words(reinterpret_cast<const float*>(packed.bytes.data),
                                     packed.bytes.size.value() / sizeof(float));
  const Packed there(cut, words);
  auto own = std::make_shared<Arena>(node.endpoint, cut.n, server_.substance);
  const std::span<float> g = own->all().data();
  co_await in_slices(node.env, Work::Reduce, cut.n.value(), g.empty(), Order::Forward, 1,
                     [&](std::size_t begin, std::size_t end) { there.form(begin, end, g); });
  Gradient made{own->bytes(), own};
  co_return made;
}

Task<std::optional<Gradient>> GradientForms::of_part(Holder from, std::uint32_t shard,
                                                     const Gradient& packed) {
  const Node& node = server_.node;
  const ShardCut& cut = server_.cuts[shard];
  const std::span<const std::uint32_t> words(
      reinterpret_cast<const std::uint32_t*>(packed.bytes.data),
      packed.bytes.size.value() / sizeof(std::uint32_t));
  // A view may come meanwhile, and the keys of a lost worker are forgotten then.
  Keys keys = keys_[shard][from];
  std::optional<PushedPart> there;
  co_await node.env.work(Work::Decode, Elements(words.size()),
                         [&] { there.emplace(cut, words, keys); });
  if (!there->has_keys()) co_return std::nullopt;
  auto own = std::make_shared<Arena>(node.endpoint, cut.n, server_.substance);
  const std::span<float> g = own->all().data();
  co_await in_slices(node.env, Work::Decode, cut.n.value(), g.empty(), Order::Forward, 1,
                     [&](std::size_t begin, std::size_t end) { there->form(begin, end, g); });
  there.reset();
  keys_[shard][from] = std::move(keys);
  Gradient made{own->bytes(), own};
  co_return made;
}

Task<Gradient> GradientForms::of_encoded(NodeId from, std::uint32_t shard,
                                         const Gradient& message) {
  const Node& node = server_.node;
  const ShardCut& cut = server_.cuts[shard];
  const MessageForm* const form = server_.options.form.get();
  if (form == nullptr)
    throw Corrupt(fmt::format("node {} sent an encoded push, and none should be", from));
  auto own = std::make_shared<Arena>(node.endpoint, cut.n, server_.substance);
  const std::span<float> g = own->all().data();
  co_await node.env.work(Work::Decode, cut.n, [&] {
    form->decode(message.bytes, {cut.at, cut.n}, g, from);
  });
  Gradient made{own->bytes(), own};
  co_return made;
}

void GradientForms::forget_lost(std::uint32_t shard) {
  std::erase_if(keys_[shard], [&](const auto& k) { return !server_.present(k.first); });
}

}  // namespace shoal
