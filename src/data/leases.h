// Leases on positions 0 .. n - 1: free, leased to an incarnation of a worker, or ended. The ledger
// keeps one for an epoch, a full pass one of its own; private to this layer and to ledger.h.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "base/names.h"
#include "base/types.h"

namespace shoal {

enum class SampleEnd : std::uint8_t { Applied, Dropped, Lost, Partial };
inline constexpr std::size_t kSampleEnds = count_up_to(SampleEnd::Partial);

class Leases {
 public:
  struct Span {  // spans are adjacent, and neighbours differ
    std::uint64_t at, n;
    enum class State : std::uint8_t { Free, Leased, Ended } state;
    SampleEnd end{};
    NodeId worker{};
    Incarnation life{};
    bool same_kind(const Span& o) const;
  };
  struct Piece {
    std::uint64_t at = 0, n = 0;
  };

  explicit Leases(std::uint64_t n) : n_(n) { reset(); }
  void reset() {
    spans_.assign(1, Span{0, n_, Span::State::Free});
    taken_ = 0;
    free_ = n_;
    ended_ = {};
  }

  std::uint64_t size() const { return n_; }
  const std::deque<Span>& spans() const { return spans_; }
  std::uint64_t free() const { return free_; }
  const std::array<std::uint64_t, kSampleEnds>& ended_how() const { return ended_; }
  bool ended() const;  // all of it

  // At most `n` consecutive free positions, the lowest; empty if none is free.
  Piece lease(NodeId worker, Incarnation life, std::uint64_t n);
  void claim(const Piece& piece, NodeId worker, Incarnation life);  // REQUIRES: it is free
  // REQUIRES: leased, completely or in part, to one worker.
  void settle(const Piece& piece, SampleEnd end);
  std::uint64_t settle_all(SampleEnd end);  // returns how many positions were leased
  void revoke(NodeId worker, Incarnation life);
  void revoke_all();
  void end(const Piece& piece, SampleEnd end);  // REQUIRES: it is free
  void end_free(SampleEnd end);                 // all free positions; REQUIRES: none is leased

 private:
  using Spans = std::deque<Span>;
  Spans::iterator at(std::uint64_t position);  // the span that contains it
  // Makes [at, at + n) a span of its own and returns it. REQUIRES: it is inside one span.
  Spans::iterator carve(std::uint64_t at, std::uint64_t n);
  void end(Spans::iterator span, SampleEnd end);
  void count_end(const Span& span) { ended_[static_cast<std::size_t>(span.end)] += span.n; }
  void merge();
  void merge_around(Spans::iterator span);

  std::uint64_t n_;
  // By position, no two neighbours of one kind. Leases are taken at one end and settled at the
  // other: a deque changes cheaply at both ends, and with 1,000 workers each has a span of each
  // kind.
  Spans spans_;
  std::uint64_t taken_ = 0;                         // no position below this is free
  std::uint64_t free_ = 0;                          // free positions
  std::array<std::uint64_t, kSampleEnds> ended_{};  // ended positions, by kind
};

}  // namespace shoal
