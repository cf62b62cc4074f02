#include "ps/dealt_round.h"

#include <algorithm>

#include "base/check.h"
#include "ps/ledger_words.h"

namespace shoal {
namespace {

constexpr std::size_t kPieceWords = 5;

}  // namespace

Share samples_of(const Round& round, std::uint32_t L, std::uint32_t from, std::uint32_t to) {
  const std::uint64_t n = round.samples.n;
  const auto below = [&](std::uint64_t k) { return k * (n / L) + std::min(k, n % L); };
  return {round.samples.epoch, round.samples.at + below(from), below(to) - below(from)};
}

std::vector<std::uint64_t> to_words(std::span<const RoundPiece> pieces) {
  std::vector<std::uint64_t> words;
  for (const RoundPiece& p : pieces)
    put(words, {p.worker.value(), p.life.value(), p.from, p.to, p.lost ? 1U : 0U});
  return words;
}

std::vector<RoundPiece> pieces_from(std::span<const std::uint64_t> words) {
  std::vector<RoundPiece> pieces;
  for (; words.size() >= kPieceWords; words = words.subspan(kPieceWords))
    pieces.push_back({NodeId(static_cast<std::uint32_t>(words[0])),
                      Incarnation(static_cast<std::uint32_t>(words[1])),
                      static_cast<std::uint32_t>(words[2]), static_cast<std::uint32_t>(words[3]),
                      words[4] != 0});
  return pieces;
}

const RoundPiece* DealtRound::piece_of(NodeId worker, Incarnation life) const {
  const auto it = std::ranges::find_if(pieces_, [&](const RoundPiece& p) {
    return p.worker == worker && p.life == life && !p.lost;
  });
  return it == pieces_.end() ? nullptr : &*it;
}

bool DealtRound::settled_by(NodeId worker, Incarnation life, std::uint64_t settled) const {
  return round_ && settled > round_->number && (recalled_ || piece_of(worker, life) != nullptr);
}

void DealtRound::lose(NodeId worker, Incarnation life) {
  for (RoundPiece& p : pieces_) {
    if (p.worker != worker || p.life != life || p.lost) continue;
    p.lost = true;
    lost_.push_back(p);
  }
}

void DealtRound::settle(Ledger& ledger) {
  if (!round_) return;
  if (!recalled_) ledger.settle(round_->samples, SampleEnd::Applied);
  clear();
}

void DealtRound::deal(Ledger& ledger, std::uint64_t number, std::uint64_t n,
                      std::span<const RoundPiece> pieces) {
  SHOAL_CHECK(!pieces.empty());
  if (!round_ || round_->number != number) {
    settle(ledger);
    const RoundPiece& first = pieces.front();
    round_ = Round{number, ledger.deal(first.worker, first.life, n)};
    SHOAL_CHECK_EQ(round_->samples.n, n, "rounds lie end to end");
    pieces_.assign(pieces.begin(), pieces.end());
    return;
  }
  for (const RoundPiece& now : pieces)
    for (RoundPiece& p : pieces_)
      if (p.lost && p.from == now.from && p.to == now.to) p = now;
}

void DealtRound::recall(Ledger& ledger, const Round& round, std::span<const RoundPiece> pieces) {
  ledger.revoke_all();
  round_ = round;
  recalled_ = true;
  pieces_.assign(pieces.begin(), pieces.end());
  lost_.clear();
  for (const RoundPiece& p : pieces_)
    if (p.lost) lost_.push_back(p);
}

void DealtRound::clear() {
  round_.reset();
  recalled_ = false;
  pieces_.clear();
  lost_.clear();
}

std::vector<std::uint64_t> DealtRound::words() const {
  if (!round_) return {0};
  std::vector<std::uint64_t> w{1,
                               round_->number,
                               round_->samples.epoch,
                               round_->samples.at,
                               round_->samples.n,
                               recalled_ ? 1U : 0U};
  for (const std::vector<RoundPiece>* const some : {&pieces_, &lost_}) {
    w.push_back(some->size());
    put(w, to_words(*some));
  }
  return w;
}

void DealtRound::restore(Ledger& ledger, std::span<const std::uint64_t>& words) {
  const auto next = [&] { return next_word(words); };
  if (next() == 0) return;
  round_.emplace();
  round_->number = next();
  round_->samples.epoch = next();
  round_->samples.at = next();
  round_->samples.n = next();
  recalled_ = next() != 0;
  for (std::vector<RoundPiece>* const some : {&pieces_, &lost_}) {
    const std::size_t n = next() * kPieceWords;
    SHOAL_CHECK_LE(n, words.size(), "the scheduler's state is too short");
    *some = pieces_from(words.first(n));
    words = words.subspan(n);
  }
  if (!recalled_) ledger.claim(pieces_.front().worker, pieces_.front().life, round_->samples);
}

}  // namespace shoal
