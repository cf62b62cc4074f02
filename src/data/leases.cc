#include "data/leases.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/check.h"

namespace shoal {

bool Leases::Span::same_kind(const Span& o) const {
  if (state != o.state) return false;
  if (state == State::Leased) return worker == o.worker && life == o.life;
  return state == State::Free || end == o.end;
}

bool Leases::ended() const {
  return std::accumulate(ended_.begin(), ended_.end(), std::uint64_t{0}) == n_;
}

Leases::Piece Leases::lease(NodeId worker, Incarnation life, std::uint64_t n) {
  const auto free = std::find_if(at(taken_), spans_.end(),
                                 [](const Span& s) { return s.state == Span::State::Free; });
  taken_ = free == spans_.end() ? n_ : free->at;
  if (free == spans_.end() || n == 0) return {};
  const Piece piece{free->at, std::min(n, free->n)};
  claim(piece, worker, life);
  taken_ = piece.at + piece.n;
  return piece;
}

void Leases::claim(const Piece& piece, NodeId worker, Incarnation life) {
  const auto span = carve(piece.at, piece.n);
  SHOAL_CHECK(span->state == Span::State::Free, "positions {}..{} are not free", piece.at,
              piece.at + piece.n);
  span->state = Span::State::Leased;
  span->worker = worker;
  span->life = life;
  free_ -= piece.n;
}

void Leases::settle(const Piece& piece, SampleEnd end) {
  const auto span = carve(piece.at, piece.n);
  SHOAL_CHECK(span->state == Span::State::Leased, "positions {}..{} are not leased", piece.at,
              piece.at + piece.n);
  this->end(span, end);
}

std::uint64_t Leases::settle_all(SampleEnd end) {
  std::uint64_t n = 0;
  for (Span& s : spans_) {
    if (s.state != Span::State::Leased) continue;
    s.state = Span::State::Ended;
    s.end = end;
    count_end(s);
    n += s.n;
  }
  merge();
  return n;
}

void Leases::revoke(NodeId worker, Incarnation life) {
  for (Span& s : spans_) {
    if (s.state != Span::State::Leased || s.worker != worker || s.life != life) continue;
    s.state = Span::State::Free;
    free_ += s.n;
  }
  merge();
}

void Leases::revoke_all() {
  for (Span& s : spans_) {
    if (s.state != Span::State::Leased) continue;
    s.state = Span::State::Free;
    free_ += s.n;
  }
  merge();
}

void Leases::end(const Piece& piece, SampleEnd end) {
  SHOAL_CHECK_LE(piece.at + piece.n, n_);
  if (piece.n == 0) return;
  const auto span = carve(piece.at, piece.n);
  SHOAL_CHECK(span->state == Span::State::Free);
  free_ -= piece.n;
  this->end(span, end);
}

void Leases::end(Spans::iterator span, SampleEnd end) {
  span->state = Span::State::Ended;
  span->end = end;
  count_end(*span);
  merge_around(span);
}

void Leases::end_free(SampleEnd end) {
  for (Span& s : spans_) {
    SHOAL_CHECK(s.state != Span::State::Leased, "a lease is pending");
    if (s.state != Span::State::Free) continue;
    s.state = Span::State::Ended;
    s.end = end;
    count_end(s);
  }
  free_ = 0;
  merge();
}

Leases::Spans::iterator Leases::at(std::uint64_t position) {
  // Leases are taken from the last span and settled from the first ones.
  if (position >= spans_.back().at && position < n_) return spans_.end() - 1;
  for (auto it = spans_.begin(); it != spans_.end() && it - spans_.begin() < 2; ++it)
    if (position < it->at + it->n) return it;
  return std::ranges::lower_bound(spans_, position, std::less_equal(),
                                  [](const Span& s) { return s.at + s.n; });
}

Leases::Spans::iterator Leases::carve(std::uint64_t at, std::uint64_t n) {
  auto it = this->at(at);
  SHOAL_CHECK(it != spans_.end() && at >= it->at && at + n <= it->at + it->n,
              "positions {}..{} are not in one span", at, at + n);
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
  return it;
}

void Leases::merge() {
  Spans merged;
  for (const Span& s : spans_) {
    if (!merged.empty() && merged.back().same_kind(s)) {
      merged.back().n += s.n;
    } else {
      merged.push_back(s);
    }
  }
  spans_.swap(merged);
  taken_ = 0;
}

// After a change of this span alone.
void Leases::merge_around(Spans::iterator span) {
  if (const auto next = span + 1; next != spans_.end() && span->same_kind(*next)) {
    span->n += next->n;
    span = spans_.erase(next) - 1;
  }
  if (span == spans_.begin()) return;
  if (const auto before = span - 1; before->same_kind(*span)) {
    before->n += span->n;
    spans_.erase(span);
  }
}

}  // namespace shoal
