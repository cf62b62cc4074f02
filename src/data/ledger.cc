#include "data/ledger.h"

#include <algorithm>

#include "base/check.h"
#include "base/permutation.h"

namespace shoal {

Ledger::Ledger(Seed seed, std::uint64_t samples) : seed_(seed), leases_(samples) {
  SHOAL_CHECK_GT(samples, 0U);
}

Ledger::Ledger(Seed seed, std::vector<SampleId> own)
    : seed_(seed),
      own_(std::make_shared<const std::vector<SampleId>>(std::move(own))),
      leases_(own_->size()) {
  SHOAL_CHECK(!own_->empty(), "a ledger without samples");
}

void Ledger::begin_epoch(std::uint64_t epoch) {
  epoch_ = epoch;
  leases_.reset();
}

void Ledger::turn_over() {
  if (!epoch_ended()) return;
  past_ = tally().ended;
  begin_epoch(epoch_ + 1);
}

Share Ledger::deal(NodeId worker, Incarnation life, std::uint64_t n) {
  turn_over();
  const Leases::Piece piece = leases_.lease(worker, life, n);
  return Share{epoch_, piece.at, piece.n};
}

std::vector<Share> Ledger::peek(std::uint64_t n, std::size_t deals) const {
  std::vector<Share> shares;
  if (n == 0) return shares;
  const auto take = [&](std::uint64_t epoch, std::uint64_t at, std::uint64_t left) {
    for (; left > 0 && shares.size() < deals; at += n, left -= std::min(n, left))
      shares.push_back(Share{epoch, at, std::min(n, left)});
  };
  for (const Leases::Span& s : leases_.spans())
    if (s.state == Leases::Span::State::Free) take(epoch_, s.at, s.n);
  for (std::uint64_t epoch = epoch_ + 1; shares.size() < deals; ++epoch)
    take(epoch, 0, leases_.size());
  return shares;
}

void Ledger::settle(const Share& share, SampleEnd end) {
  if (share.n == 0) return;
  SHOAL_CHECK_EQ(share.epoch, epoch_);
  leases_.settle({share.at, share.n}, end);
}

std::uint64_t Ledger::settle_leases(SampleEnd end) { return leases_.settle_all(end); }
void Ledger::drop_rest() { leases_.end_free(SampleEnd::Dropped); }
void Ledger::revoke(NodeId worker, Incarnation life) { leases_.revoke(worker, life); }
void Ledger::revoke_all() { leases_.revoke_all(); }

std::uint64_t Ledger::left() const { return epoch_ended() ? leases_.size() : leases_.free(); }

bool Ledger::epoch_ended() const { return leases_.ended(); }

std::vector<SampleId> Ledger::samples(const Share& share) const {
  SHOAL_CHECK_LE(share.at + share.n, leases_.size());
  const Permutation order(leases_.size(), Random(seed_, Purpose::Shuffle, share.epoch));
  std::vector<SampleId> ids(share.n);
  for (std::uint64_t i = 0; i < share.n; ++i) ids[i] = order.at(share.at + i);
  if (own_)
    for (SampleId& id : ids) id = (*own_)[id];
  return ids;
}

LedgerTally Ledger::tally() const {
  LedgerTally tally{past_, leases_.size()};
  for (std::size_t end = 0; end < kSampleEnds; ++end) {
    tally.ended[end] += leases_.ended_how()[end];
    tally.open -= leases_.ended_how()[end];
  }
  return tally;
}

std::uint64_t LedgerPlace::done() const {
  std::uint64_t n = 0;
  for (const Ended& e : ended) n += e.n;
  return n;
}

LedgerPlace Ledger::place() const {
  LedgerPlace place{epoch_, past_};
  for (const Leases::Span& s : leases_.spans()) {
    SHOAL_CHECK(s.state != Leases::Span::State::Leased, "a lease is pending");
    if (s.state == Leases::Span::State::Ended) place.ended.push_back({s.at, s.n, s.end});
  }
  return place;
}

void Ledger::restore(const LedgerPlace& place) {
  past_ = place.past;
  begin_epoch(place.epoch);
  for (const LedgerPlace::Ended& e : place.ended) leases_.end({e.at, e.n}, e.end);
}

void Ledger::claim(NodeId worker, Incarnation life, const Share& share) {
  turn_over();
  SHOAL_CHECK_EQ(share.epoch, epoch_);
  leases_.claim({share.at, share.n}, worker, life);
}

FullPass Ledger::full_pass() const { return {own_, leases_.size(), epoch_}; }

Share FullPass::deal(NodeId worker, Incarnation life, std::uint64_t n) {
  const Leases::Piece piece = leases_.lease(worker, life, n);
  return Share{epoch_, piece.at, piece.n};
}

void FullPass::settle(const Share& share) {
  if (share.n == 0) return;
  SHOAL_CHECK_EQ(share.epoch, epoch_);
  leases_.settle({share.at, share.n}, SampleEnd::Applied);
}

std::vector<SampleId> FullPass::samples(const Share& share) const {
  SHOAL_CHECK_LE(share.at + share.n, leases_.size());
  std::vector<SampleId> ids(share.n);
  for (std::uint64_t i = 0; i < share.n; ++i) ids[i] = own_ ? (*own_)[share.at + i] : share.at + i;
  return ids;
}

}  // namespace shoal
