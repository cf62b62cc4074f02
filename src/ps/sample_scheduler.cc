#include "ps/sample_scheduler.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace shoal {
namespace {

std::uint64_t next_word(std::span<const std::uint64_t>& words) {
  SHOAL_CHECK(!words.empty(), "the scheduler's state is too short");
  const std::uint64_t word = words.front();
  words = words.subspan(1);
  return word;
}

void put(std::vector<std::uint64_t>& words, std::initializer_list<std::uint64_t> more) {
  words.insert(words.end(), more);
}

void put(std::vector<std::uint64_t>& words, const Score& s) {
  put(words, {std::bit_cast<std::uint64_t>(s.loss), s.samples, s.predictions, s.correct});
}

Score next_score(std::span<const std::uint64_t>& words) {
  Score s;
  s.loss = std::bit_cast<double>(next_word(words));
  s.samples = next_word(words);
  s.predictions = next_word(words);
  s.correct = next_word(words);
  return s;
}

}  // namespace

std::vector<std::uint64_t> to_words(const LedgerPlace& place) {
  std::vector<std::uint64_t> words{place.epoch};
  words.insert(words.end(), place.past.begin(), place.past.end());
  words.push_back(place.ended.size());
  for (const LedgerPlace::Ended& e : place.ended)
    put(words, {e.at, e.n, static_cast<std::uint64_t>(e.end)});
  return words;
}

LedgerPlace place_from(std::span<const std::uint64_t>& words) {
  LedgerPlace place;
  place.epoch = next_word(words);
  for (std::uint64_t& n : place.past) n = next_word(words);
  place.ended.resize(next_word(words));
  for (LedgerPlace::Ended& e : place.ended) {
    e.at = next_word(words);
    e.n = next_word(words);
    e.end = static_cast<SampleEnd>(next_word(words));
  }
  return place;
}

Share samples_of(const Round& round, std::uint32_t L, std::uint32_t from, std::uint32_t to) {
  const std::uint64_t n = round.samples.n;
  const auto below = [&](std::uint64_t k) { return k * (n / L) + std::min(k, n % L); };
  return {round.samples.epoch, round.samples.at + below(from), below(to) - below(from)};
}

constexpr std::size_t kPieceWords = 5;

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

SampleScheduler::SampleScheduler(Ledger ledger, Course course)
    : ledger_(std::move(ledger)), course_(course), scores_(course.blocks) {
  if (course_.last == 0) course_.last = ledger_.samples_per_epoch();
  SHOAL_CHECK_LE(course_.last, ledger_.samples_per_epoch());
}

// ---- Shares

std::uint64_t SampleScheduler::left() const {
  if (over()) return 0;
  const std::uint64_t epoch = ledger_.epoch() + (ledger_.epoch_ended() ? 1 : 0);
  const std::uint64_t left = ledger_.left();
  if (epoch + 1 < course_.epochs) return left;
  const std::uint64_t never = ledger_.samples_per_epoch() - course_.last;
  return left - std::min(left, never);
}

bool SampleScheduler::fresh() const {
  return !over() && ledger_.left() == ledger_.samples_per_epoch();
}

bool SampleScheduler::over() const {
  if (past_ >= course_.epochs) return true;
  if (past_ > ledger_.epoch()) return false;
  if (ledger_.epoch_ended()) return true;
  // The last epoch may have fewer samples.
  const std::uint64_t never = ledger_.samples_per_epoch() - course_.last;
  return ledger_.epoch() + 1 == course_.epochs && never > 0 && ledger_.left() <= never && !round_ &&
         outstanding_.shares == 0;
}

std::optional<Share> SampleScheduler::dealt(NodeId worker, Incarnation life,
                                            std::uint64_t number) const {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life || number < it->second.first) return {};
  const std::uint64_t at = number - it->second.first;
  return at < it->second.shares.size() ? std::optional(it->second.shares[at]) : std::nullopt;
}

std::optional<std::uint64_t> SampleScheduler::next(NodeId worker, Incarnation life) const {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life) return {};
  return it->second.first + it->second.shares.size();
}

SampleScheduler::Outstanding SampleScheduler::outstanding_of(const Open& open) {
  Outstanding of_it{open.shares.size(), 0};
  for (std::uint64_t i = 0; i < open.shares.size() && open.first + i < open.pushed; ++i)
    of_it.in_pushes += open.shares[i].n;
  return of_it;
}

void SampleScheduler::put_on(const Open& open) {
  const Outstanding of_it = outstanding_of(open);
  outstanding_.shares += of_it.shares;
  outstanding_.in_pushes += of_it.in_pushes;
}

void SampleScheduler::take_off(const Open& open) {
  const Outstanding of_it = outstanding_of(open);
  outstanding_.shares -= of_it.shares;
  outstanding_.in_pushes -= of_it.in_pushes;
}

Share SampleScheduler::deal(const Wish& wish) {
  Open& open = open_[wish.worker];
  take_off(open);
  const Share share = deal(wish, open);
  put_on(open);
  return share;
}

Share SampleScheduler::deal(const Wish& wish, Open& open) {
  if (open.life != wish.life) {
    SHOAL_CHECK(open.shares.empty(), "node {} has shares of another life", wish.worker);
    open = Open{wish.life, wish.number, {}, 0};
    dropped_.erase(wish.worker);
  }
  settle(wish.worker, open, wish.settled, SampleEnd::Applied);
  open.pushed = std::max(open.pushed, wish.pushed);
  if (open.shares.empty()) open.first = std::max(open.first, wish.number);
  if (const auto before = dealt(wish.worker, wish.life, wish.number)) return *before;
  if (wish.number < open.first || wish.n == 0 || left() == 0) return {};
  SHOAL_CHECK_EQ(wish.number, open.first + open.shares.size(), "shares are asked for in order");
  open.shares.push_back(ledger_.deal(wish.worker, wish.life, std::min(wish.n, left())));
  return open.shares.back();
}

void SampleScheduler::settle(NodeId worker, Open& open, std::uint64_t below, SampleEnd end) {
  std::vector<std::uint64_t>& dropped = dropped_[worker];
  while (!open.shares.empty() && open.first < below) {
    const bool refused = std::erase(dropped, open.first) > 0;
    ledger_.settle(open.shares.front(), refused ? SampleEnd::Dropped : end);
    open.shares.erase(open.shares.begin());
    ++open.first;
  }
}

void SampleScheduler::drop(NodeId worker, Incarnation life, std::uint64_t number) {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life || number < it->second.first) return;
  std::vector<std::uint64_t>& dropped = dropped_[worker];
  if (std::ranges::find(dropped, number) == dropped.end()) dropped.push_back(number);
}

void SampleScheduler::lose(NodeId worker, Incarnation life, std::uint64_t reached, SampleEnd end) {
  lose_piece(worker, life);
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life) return;
  take_off(it->second);
  settle(worker, it->second, reached, end);
  ledger_.revoke(worker, life);
  open_.erase(it);
  dropped_.erase(worker);
}

void SampleScheduler::leave(NodeId worker, Incarnation life, std::uint64_t settled) {
  if (settles_round(worker, life, settled)) settle_round();
  lose_piece(worker, life);
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life) return;
  Open& open = it->second;
  take_off(open);
  settle(worker, open, settled, SampleEnd::Applied);
  if (open.shares.empty()) return;
  ledger_.revoke(worker, life);
  open.shares.clear();
}

// ---- In rounds

const RoundPiece* SampleScheduler::piece_of(NodeId worker, Incarnation life) const {
  const auto it = std::ranges::find_if(pieces_, [&](const RoundPiece& p) {
    return p.worker == worker && p.life == life && !p.lost;
  });
  return it == pieces_.end() ? nullptr : &*it;
}

bool SampleScheduler::settles_round(NodeId worker, Incarnation life, std::uint64_t settled) const {
  return round_ && settled > round_->number && (recalled_ || piece_of(worker, life) != nullptr);
}

void SampleScheduler::lose_piece(NodeId worker, Incarnation life) {
  for (RoundPiece& p : pieces_) {
    if (p.worker != worker || p.life != life || p.lost) continue;
    p.lost = true;
    lost_.push_back(p);
  }
}

void SampleScheduler::settle_round() {
  if (!round_) return;
  if (!recalled_) ledger_.settle(round_->samples, SampleEnd::Applied);
  recalled_ = false;
  round_.reset();
  pieces_.clear();
  lost_.clear();
}

void SampleScheduler::deal_round(std::uint64_t number, std::uint64_t n,
                                 std::span<const RoundPiece> pieces) {
  SHOAL_CHECK(!pieces.empty());
  if (!round_ || round_->number != number) {
    settle_round();
    const RoundPiece& first = pieces.front();
    round_ = Round{number, ledger_.deal(first.worker, first.life, std::min(n, left()))};
    SHOAL_CHECK_EQ(round_->samples.n, n, "rounds lie end to end");
    pieces_.assign(pieces.begin(), pieces.end());
    return;
  }
  for (const RoundPiece& now : pieces)
    for (RoundPiece& p : pieces_)
      if (p.lost && p.from == now.from && p.to == now.to) p = now;
}

void SampleScheduler::recall_round(const Round& round, std::span<const RoundPiece> pieces) {
  ledger_.revoke_all();
  round_ = round;
  recalled_ = true;
  pieces_.assign(pieces.begin(), pieces.end());
  lost_.clear();
  for (const RoundPiece& p : pieces_)
    if (p.lost) lost_.push_back(p);
}

void SampleScheduler::stop(Ending how) {
  if (stopped() || past_ >= course_.epochs) return;
  stopped_ = how;
  if (fresh()) {
    course_.epochs = past_;
  } else {
    course_.epochs = ledger_.epoch() + 1;
    course_.last = ledger_.samples_per_epoch() - (ledger_.epoch_ended() ? 0 : ledger_.left());
  }
}

// ---- At an epoch's end

SampleScheduler::EndOfEpochTask SampleScheduler::task(std::uint64_t epoch) const {
  if (past_ >= course_.epochs) return EndOfEpochTask::End;
  if (past_ > epoch) return EndOfEpochTask::GoOn;
  if (!over())
    return EndOfEpochTask::GoOn;  // as it was saved earlier: that epoch is to be made again
  if (course_.rest && !rest_told_) return EndOfEpochTask::Rest;
  const bool all = std::ranges::all_of(scores_, [](const auto& s) { return s.has_value(); });
  return all || stopped_ == Ending::Stopped ? EndOfEpochTask::Save : EndOfEpochTask::Evaluate;
}

void SampleScheduler::rest_told(std::uint64_t epoch) {
  if (ends_now(epoch)) rest_told_ = true;
}

void SampleScheduler::score(std::uint64_t epoch, std::uint32_t block, const Score& score) {
  if (ends_now(epoch) && block < scores_.size()) scores_[block] = score;
}

void SampleScheduler::saved(std::uint64_t epoch) {
  if (task(epoch) != EndOfEpochTask::Save || epoch != ledger_.epoch()) return;
  total_ = Score();
  for (std::optional<Score>& s : scores_)
    total_ += std::exchange(s, std::nullopt).value_or(Score());
  rest_told_ = false;
  whole_ = true;
  past_ = epoch + 1;
}

std::uint64_t SampleScheduler::ended() const {
  std::uint64_t n = outstanding_.in_pushes;
  for (const std::uint64_t one : ledger_.tally().ended) n += one;
  return n;
}

LedgerPlace SampleScheduler::place() const {
  Ledger none_out = ledger_;
  none_out.revoke_all();
  return none_out.place();
}

// ---- As words

std::vector<std::uint64_t> SampleScheduler::words() const {
  std::vector<std::uint64_t> w{course_.epochs,   course_.last, static_cast<std::uint64_t>(stopped_),
                               whole_ ? 1U : 0U, past_,        rest_told_ ? 1U : 0U};
  put(w, total_);
  for (const std::optional<Score>& s : scores_) {
    w.push_back(s ? 1 : 0);
    put(w, s.value_or(Score()));
  }
  const std::vector<std::uint64_t> at = to_words(place());
  w.insert(w.end(), at.begin(), at.end());
  w.push_back(open_.size());
  for (const auto& [worker, open] : open_) {
    const auto dropped = dropped_.find(worker);
    const std::size_t drops = dropped == dropped_.end() ? 0 : dropped->second.size();
    put(w, {worker.value(), open.life.value(), open.first, open.shares.size(), drops, open.pushed});
    for (const Share& s : open.shares) put(w, {s.at, s.n});
    for (std::size_t i = 0; i < drops; ++i) w.push_back(dropped->second[i]);
  }
  w.push_back(round_ ? 1 : 0);
  if (!round_) return w;
  put(w, {round_->number, round_->samples.epoch, round_->samples.at, round_->samples.n,
          recalled_ ? 1U : 0U});
  for (const std::vector<RoundPiece>* const some : {&pieces_, &lost_}) {
    w.push_back(some->size());
    const std::vector<std::uint64_t> more = to_words(*some);
    w.insert(w.end(), more.begin(), more.end());
  }
  return w;
}

void SampleScheduler::restore(const LedgerPlace& place) {
  ledger_.restore(place);
  past_ = place.epoch + (ledger_.epoch_ended() ? 1 : 0);
  rest_told_ = whole_ = false;
  for (std::optional<Score>& s : scores_) s.reset();
  open_.clear();
  outstanding_ = {};
  dropped_.clear();
  round_.reset();
  recalled_ = false;
  pieces_.clear();
  lost_.clear();
}

void SampleScheduler::restore(std::span<const std::uint64_t> words) {
  const auto next = [&] { return next_word(words); };
  course_.epochs = next();
  course_.last = next();
  const auto stopped = static_cast<Ending>(next());
  const bool whole = next() != 0;
  const std::uint64_t past = next();
  const bool rest_told = next() != 0;
  const Score total = next_score(words);
  std::vector<std::optional<Score>> scores(scores_.size());
  for (std::optional<Score>& s : scores) {
    const bool there = next() != 0;
    const Score one = next_score(words);
    if (there) s = one;
  }
  const LedgerPlace place = place_from(words);
  restore(place);
  stopped_ = stopped;
  whole_ = whole;
  past_ = past;
  rest_told_ = rest_told;
  total_ = total;
  scores_ = std::move(scores);
  for (std::uint64_t workers = next(); workers > 0; --workers) {
    const NodeId worker(static_cast<std::uint32_t>(next()));
    const Incarnation life(static_cast<std::uint32_t>(next()));
    Open open{life, next(), {}, 0};
    const std::uint64_t shares = next();
    const std::uint64_t drops = next();
    open.pushed = next();
    for (std::uint64_t i = 0; i < shares; ++i) {
      const std::uint64_t at = next();
      open.shares.push_back({place.epoch, at, next()});
      ledger_.claim(worker, life, open.shares.back());
    }
    for (std::uint64_t i = 0; i < drops; ++i) dropped_[worker].push_back(next());
    put_on(open);
    open_[worker] = std::move(open);
  }
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
  if (!recalled_) ledger_.claim(pieces_.front().worker, pieces_.front().life, round_->samples);
}

}  // namespace shoal
