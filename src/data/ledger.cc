#include "data/ledger.h"

#include <algorithm>

#include "base/check.h"
#include "base/permutation.h"

namespace shoal {

bool Ledger::Span::same_kind(const Span& o) const {
  if (state != o.state) return false;
  if (state == State::Leased) return worker == o.worker && life == o.life;
  return state == State::Free || end == o.end;
}

Ledger::Ledger(Seed seed, std::uint64_t samples) : seed_(seed), samples_(samples) {
  SHOAL_CHECK_GT(samples, 0U);
  begin_epoch(0);
}

void Ledger::begin_epoch(std::uint64_t epoch) {
  epoch_ = epoch;
  spans_.assign(1, Span{0, samples_, Span::State::Free});
}

Share Ledger::deal(NodeId worker, Incarnation life, std::uint64_t n) {
  if (epoch_ended()) {
    for (const Span& s : spans_) past_[static_cast<std::size_t>(s.end)] += s.n;
    begin_epoch(epoch_ + 1);
  }
  const auto free = std::ranges::find(spans_, Span::State::Free, &Span::state);
  if (free == spans_.end() || n == 0) return Share{epoch_, 0, 0};
  const std::uint64_t at = free->at;
  const std::uint64_t count = std::min(n, free->n);
  Span& span = carve(at, count);
  span.state = Span::State::Leased;
  span.worker = worker;
  span.life = life;
  return Share{epoch_, at, count};
}

void Ledger::settle(const Share& share, SampleEnd end) {
  if (share.n == 0) return;
  SHOAL_CHECK_EQ(share.epoch, epoch_);
  Span& span = carve(share.at, share.n);
  SHOAL_CHECK(span.state == Span::State::Leased, "positions {}..{} of epoch {} are not leased",
              share.at, share.at + share.n, share.epoch);
  span.state = Span::State::Ended;
  span.end = end;
  merge();
}

std::uint64_t Ledger::settle_leases(SampleEnd end) {
  std::uint64_t n = 0;
  for (Span& s : spans_) {
    if (s.state != Span::State::Leased) continue;
    s.state = Span::State::Ended;
    s.end = end;
    n += s.n;
  }
  merge();
  return n;
}

void Ledger::revoke(NodeId worker, Incarnation life) {
  for (Span& s : spans_)
    if (s.state == Span::State::Leased && s.worker == worker && s.life == life)
      s.state = Span::State::Free;
  merge();
}

void Ledger::revoke_all() {
  for (Span& s : spans_)
    if (s.state == Span::State::Leased) s.state = Span::State::Free;
  merge();
}

Ledger::Span& Ledger::carve(std::uint64_t at, std::uint64_t n) {
  auto it = std::ranges::find_if(spans_, [&](const Span& s) { return at < s.at + s.n; });
  SHOAL_CHECK(it != spans_.end() && at >= it->at && at + n <= it->at + it->n,
              "positions {}..{} are not of one span", at, at + n);
  const Span whole = *it;
  if (at + n < whole.at + whole.n) {
    Span rest = whole;
    rest.at = at + n;
    rest.n = whole.at + whole.n - rest.at;
    it = spans_.insert(it + 1, rest) - 1;
  }
  if (at > whole.at) {
    it->n = at - whole.at;
    it = spans_.insert(it + 1, whole);
  }
  it->at = at;
  it->n = n;
  return *it;
}

void Ledger::merge() {
  std::vector<Span> merged;
  for (const Span& s : spans_) {
    if (!merged.empty() && merged.back().same_kind(s)) {
      merged.back().n += s.n;
    } else {
      merged.push_back(s);
    }
  }
  spans_.swap(merged);
}

std::uint64_t Ledger::left() const {
  if (epoch_ended()) return samples_;
  std::uint64_t n = 0;
  for (const Span& s : spans_)
    if (s.state == Span::State::Free) n += s.n;
  return n;
}

bool Ledger::epoch_ended() const {
  return std::ranges::all_of(spans_, [](const Span& s) { return s.state == Span::State::Ended; });
}

std::vector<SampleId> Ledger::samples(const Share& share) const {
  SHOAL_CHECK_LE(share.at + share.n, samples_);
  const Permutation order(samples_, Random(seed_, Purpose::Shuffle, share.epoch));
  std::vector<SampleId> ids(share.n);
  for (std::uint64_t i = 0; i < share.n; ++i) ids[i] = order.at(share.at + i);
  return ids;
}

LedgerTally Ledger::tally() const {
  LedgerTally tally{past_, 0};
  for (const Span& s : spans_) {
    if (s.state == Span::State::Ended) {
      tally.ended[static_cast<std::size_t>(s.end)] += s.n;
    } else {
      tally.open += s.n;
    }
  }
  return tally;
}

LedgerPlace Ledger::place() const {
  LedgerPlace place{epoch_, 0};
  for (const Span& s : spans_) {
    SHOAL_CHECK(s.state != Span::State::Leased, "a lease is out");
    if (s.state != Span::State::Ended) continue;
    SHOAL_CHECK_EQ(s.at, place.at, "the ledger has ended samples out of order");
    SHOAL_CHECK(s.end == SampleEnd::Applied);
    place.at = s.at + s.n;
  }
  return place;
}

void Ledger::restore(const LedgerPlace& place) {
  SHOAL_CHECK_LE(place.at, samples_);
  past_ = {};
  past_[static_cast<std::size_t>(SampleEnd::Applied)] = place.epoch * samples_;
  begin_epoch(place.epoch);
  if (place.at > 0) {
    Span& span = carve(0, place.at);
    span.state = Span::State::Ended;
    span.end = SampleEnd::Applied;
  }
}

}  // namespace shoal
