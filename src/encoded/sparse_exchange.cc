// Lists are merged by partners at doubling distances (sparse.h). Members beyond the largest power
// of two give theirs to one below, and get the sum from there.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "encoded/forms.h"
#include "encoded/sparse.h"
#include "encoded/steps.h"

namespace shoal {
namespace {

constexpr std::uint64_t kListsUp = 0;
constexpr std::uint64_t kListsDown = 1;
constexpr std::uint64_t kListsMerged = 2;

// A phantom's list: about as long as lists of random places come to be.
struct Lists {
  const Group& group;
  Encoder& encoder;
  Range g;
  std::optional<SparseSum> sum;
  double filled = 0;  // of a phantom, the part that is not zero

  Task<ConstBuf> write() {
    const MutBuf room = encoder.room(size());
    co_await group.node.env.work(Work::Encode, Elements(room.size.value() / 8), [&] {
      if (sum) sum->write(room);
    });
    co_return ConstBuf(room);
  }
  Task<void> add(std::uint64_t from, const Reading& reading) {
    const std::uint64_t touched = reading.size().value() / 8;
    co_await group.node.env.work(Work::Decode, Elements(touched), [&] {
      if (!sum) return;
      try {
        sum->add(reading.data());
      } catch (const Corrupt& error) {
        throw Corrupt(fmt::format("node {} sent {}", group.at(from), error.what()));
      }
    });
    if (!sum) filled = 1 - (1 - filled) * (1 - filled);
  }
  Bytes size() const {
    const auto values =
        static_cast<std::uint64_t>(std::lround(filled * static_cast<double>(g.n.value())));
    return sum ? sum->size() : SparseSum::size_of(g.n, values);
  }
};

}  // namespace

Task<void> encoded_sparse(const Group& group, Encoder& encoder, Range g, std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t Q = std::bit_floor(P);
  const std::uint64_t r = group.rank.value();
  const ConstBuf own = co_await message_of(group, encoder, g);
  Lists lists{group, encoder, g, std::nullopt, 0};
  const auto n = static_cast<double>(std::max<std::uint64_t>(1, g.n.value()));
  lists.filled = std::min(1.0, static_cast<double>(own.size.value()) / 8 / n);
  co_await put(group, encoder, own, g, group.at(r));
  co_await group.node.env.work(Work::Decode, g.n, [&] {
    if (!encoder.phantom()) lists.sum.emplace(g.n).take(g.data());
  });
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    if (r >= Q) {
      const ConstBuf all = co_await lists.write();
      give_message(group, tasks, r - Q, group.tag(operation, kListsUp), all);
      const Reading sum = co_await read_message(group, r - Q, group.tag(operation, kListsDown));
      if (lists.sum) lists.sum.emplace(g.n);
      co_await lists.add(r - Q, sum);
      co_return;
    }
    if (r + Q < P) {
      const Reading theirs = co_await read_message(group, r + Q, group.tag(operation, kListsUp));
      co_await lists.add(r + Q, theirs);
    }
    std::uint64_t round = kListsMerged;
    for (std::uint64_t d = 1; d < Q; d *= 2, ++round) {
      const ConstBuf mine = co_await lists.write();
      give_message(group, tasks, r ^ d, group.tag(operation, round), mine);
      const Reading theirs = co_await read_message(group, r ^ d, group.tag(operation, round));
      co_await lists.add(r ^ d, theirs);
    }
    if (r + Q < P) {
      const ConstBuf sum = co_await lists.write();
      give_message(group, tasks, r + Q, group.tag(operation, kListsDown), sum);
    }
  });
  co_await group.node.env.work(Work::Decode, g.n, [&] {
    if (lists.sum) lists.sum->write(g.data());
  });
}

}  // namespace shoal
