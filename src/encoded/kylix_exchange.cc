// Down a butterfly, where parts of lists are added up, and up again (kylix.h). Members beyond the
// largest power of two give their list to one below, and get the sum from there.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "encoded/forms.h"
#include "encoded/kylix.h"
#include "encoded/steps.h"

namespace shoal {
namespace {

constexpr std::uint64_t kFoldUp = 0;
constexpr std::uint64_t kFoldDown = 1;
constexpr std::uint64_t kDown = 2;  // and on, by layer: fewer than 32
constexpr std::uint64_t kUp = 34;

// The current list of a member: that of a part. A phantom's has about as many values as lists of
// random places come to have.
class Hands {
 public:
  Hands(const Group& group, Encoder& encoder, std::uint64_t operation, KylixMemory& memory,
        double filled)
      : group_(group),
        encoder_(encoder),
        operation_(operation),
        memory_(memory),
        filled_(filled),
        with_places_(!memory.configured || !encoder.places_persist()) {}

  bool phantom() const { return encoder_.phantom(); }
  Tag tag(std::uint64_t round) const { return group_.tag(operation_, round); }

  Task<void> take(Range g) {
    part_ = {0, static_cast<std::uint32_t>(g.n.value())};
    co_await group_.node.env.work(Work::Decode, g.n, [&] {
      if (!phantom()) list_ = kylix_list(g.data(), memory_.own);
    });
  }
  Task<void> write_to(Range g) {
    co_await group_.node.env.work(Work::Decode, g.n, [&] {
      if (phantom()) return;
      const std::span<float> out = g.data();
      std::ranges::fill(out, 0.0F);
      for (std::size_t k = 0; k < list_.value.size(); ++k)
        out[list_.pattern->at[k]] = list_.value[k];
    });
    memory_.configured = true;
  }

  // The members beyond the power of two.
  Task<void> fold_into(TaskGroup& tasks, std::uint64_t below) {
    const ConstBuf all = co_await message(part_, memory_.fold_sent);
    give_message(group_, tasks, below, tag(kFoldUp), all);
    list_ = co_await list_from(below, kFoldDown, part_, memory_.sum_got);
  }
  Task<void> fold_in(std::uint64_t beyond) {
    std::vector<KylixList> lists(2);
    lists[0] = list_;
    lists[1] = co_await list_from(beyond, kFoldUp, part_, memory_.fold_got);
    co_await add_up(memory_.fold, lists);
  }
  Task<void> unfold(TaskGroup& tasks, std::uint64_t beyond) {
    const ConstBuf sum = co_await message(part_, memory_.sum_sent);
    give_message(group_, tasks, beyond, tag(kFoldDown), sum);
  }

  // This member's is the digit-th part of what the d members of its group have; they are `stride`
  // ranks from each other.
  Task<void> down(TaskGroup& tasks, std::uint64_t i, std::uint64_t first, std::uint64_t stride,
                  std::uint64_t digit) {
    KylixMemory::Layer& layer = memory_.layers[i];
    const std::uint64_t d = memory_.degrees[i];
    for (std::uint64_t k = 1; k < d; ++k) {
      const std::uint64_t to = (digit + k) % d;
      const ConstBuf theirs = co_await message(part_.child(to, d), layer.sent[to]);
      give_message(group_, tasks, first + to * stride, tag(kDown + i), theirs);
    }
    const KylixPart mine = part_.child(digit, d);
    std::vector<KylixList> lists(d);
    if (!phantom()) lists[digit] = slice(mine, layer.own);
    for (std::uint64_t from = 0; from < d; ++from)
      if (from != digit)
        lists[from] = co_await list_from(first + from * stride, kDown + i, mine, layer.got[from]);
    part_ = mine;
    co_await add_up(layer.merge, lists);
  }
  Task<void> up(TaskGroup& tasks, std::uint64_t i, std::uint64_t first, std::uint64_t stride,
                std::uint64_t digit, KylixPart whole) {
    KylixMemory::Layer& layer = memory_.layers[i];
    const std::uint64_t d = memory_.degrees[i];
    const ConstBuf sum = co_await message(part_, layer.own_sum);
    for (std::uint64_t k = 1; k < d; ++k)
      give_message(group_, tasks, first + (digit + k) % d * stride, tag(kUp + i), sum);
    std::vector<KylixList> lists(d);
    lists[digit] = list_;
    for (std::uint64_t from = 0; from < d; ++from)
      if (from != digit)
        lists[from] = co_await list_from(first + from * stride, kUp + i, whole.child(from, d),
                                         layer.gathered[from]);
    part_ = whole;
    if (!phantom()) join(lists);
  }
  KylixPart part() const { return part_; }

 private:
  std::uint64_t phantom_values(KylixPart part) const {
    return static_cast<std::uint64_t>(std::lround(filled_ * (part.end - part.begin)));
  }

  // The elements of the list in the part.
  std::pair<std::size_t, std::size_t> bounds(KylixPart part) const {
    const std::vector<std::uint32_t>& at = list_.pattern->at;
    const auto begin = std::ranges::lower_bound(at, part.begin);
    const auto end = std::ranges::lower_bound(at, part.end);
    return {begin - at.begin(), end - begin};
  }
  std::span<const std::uint32_t> places(KylixPart part) const {
    const auto [at, n] = bounds(part);
    return std::span(list_.pattern->at).subspan(at, n);
  }
  std::span<const float> values(KylixPart part) const {
    const auto [at, n] = bounds(part);
    return std::span(list_.value).subspan(at, n);
  }
  KylixList slice(KylixPart part, KylixPattern& remembered) const {
    const std::span<const float> own = values(part);
    return {remember(remembered, places(part)), {own.begin(), own.end()}};
  }

  // The message of the elements in the part; with positions unless they are those of the last
  // message.
  Task<ConstBuf> message(KylixPart part, KylixPattern& sent) {
    MutBuf room;
    if (phantom()) {
      room = encoder_.room(kylix_size(phantom_values(part), part, with_places_));
      co_await group_.node.env.work(Work::Encode, Elements(room.size.value() / 8), [] {});
      co_return ConstBuf(room);
    }
    const bool anew = !sent || !std::ranges::equal(sent->at, places(part));
    const std::span<const float> some = values(part);
    room = encoder_.room(kylix_size(some.size(), part, anew));
    co_await group_.node.env.work(Work::Encode, Elements(room.size.value() / 8), [&] {
      const KylixPattern pattern = remember(sent, places(part));
      write_kylix(some, *pattern, part, anew, room);
    });
    co_return ConstBuf(room);
  }

  Task<KylixList> list_from(std::uint64_t from, std::uint64_t round, KylixPart part,
                            KylixPattern& got) {
    const Reading reading = co_await read_message(group_, from, tag(round));
    KylixList list;
    co_await group_.node.env.work(Work::Decode, Elements(reading.size().value() / 8), [&] {
      if (phantom()) return;
      try {
        list = read_kylix(reading.data(), part, got);
      } catch (const Corrupt& error) {
        throw Corrupt(fmt::format("node {} sent {}", group_.at(from), error.what()));
      }
    });
    co_return list;
  }

  Task<void> add_up(KylixMerge& merge, const std::vector<KylixList>& lists) {
    std::uint64_t touched = 0;
    for (const KylixList& list : lists)
      touched += phantom() ? phantom_values(part_) : list.value.size();
    co_await group_.node.env.work(Work::Reduce, Elements(touched), [&] {
      if (!phantom()) list_ = merge.sum(lists);
    });
    filled_ = 1 - std::pow(1 - filled_, static_cast<double>(lists.size()));
  }

  void join(const std::vector<KylixList>& lists) {
    std::vector<std::uint32_t> at;
    std::vector<float> value;
    for (const KylixList& list : lists) {
      at.insert(at.end(), list.pattern->at.begin(), list.pattern->at.end());
      value.insert(value.end(), list.value.begin(), list.value.end());
    }
    list_.pattern = std::make_shared<const KylixPlaces>(KylixPlaces{std::move(at), 0});
    list_.value = std::move(value);
  }

  const Group& group_;
  Encoder& encoder_;
  std::uint64_t operation_;
  KylixMemory& memory_;
  double filled_;
  bool with_places_;  // of a phantom
  KylixPart part_;
  KylixList list_;
};

// The way of a member through the butterfly: its group in each layer, and the parts it had.
struct Stop {
  std::uint64_t first = 0, stride = 1, digit = 0;
  KylixPart whole;
};

}  // namespace

Task<void> encoded_kylix(const Group& group, Encoder& encoder, Range g, std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t Q = std::bit_floor(P);
  const std::uint64_t r = group.rank.value();
  SHOAL_CHECK_LE(g.n.value(), std::numeric_limits<std::uint32_t>::max());
  const auto n = static_cast<double>(std::max<std::uint64_t>(1, g.n.value()));
  // The same on all members, whatever their lists turn out to be.
  const double filled = std::min(1.0, static_cast<double>(encoder.expected(g).value()) / 8 / n);
  KylixMemory& memory = encoder.kylix().of(group, {g.at, g.n}, kylix_degrees(Q, g.n, filled));
  const ConstBuf own = co_await message_of(group, encoder, g);
  co_await put(group, encoder, own, g, group.at(r));
  Hands hands(group, encoder, operation, memory, filled);
  co_await hands.take(g);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    if (r >= Q) {
      co_await hands.fold_into(tasks, r - Q);
      co_return;
    }
    if (r + Q < P) co_await hands.fold_in(r + Q);
    std::vector<Stop> way;
    std::uint64_t stride = 1;
    for (const std::uint64_t d : memory.degrees) {
      const std::uint64_t digit = r / stride % d;
      way.push_back({r - digit * stride, stride, digit, hands.part()});
      co_await hands.down(tasks, way.size() - 1, way.back().first, stride, digit);
      stride *= d;
    }
    for (std::size_t i = way.size(); i-- > 0;)
      co_await hands.up(tasks, i, way[i].first, way[i].stride, way[i].digit, way[i].whole);
    if (r + Q < P) co_await hands.unfold(tasks, r + Q);
  });
  co_await hands.write_to(g);
}

}  // namespace shoal
