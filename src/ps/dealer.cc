#include "ps/dealer.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace shoal {
namespace {

std::uint64_t next_word(std::span<const std::uint64_t>& words) {
  SHOAL_CHECK(!words.empty(), "the dealer's state is too short");
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

Dealer::Dealer(Ledger ledger, Course course)
    : ledger_(std::move(ledger)), course_(course), scores_(course.blocks) {
  if (course_.last == 0) course_.last = ledger_.samples_per_epoch();
  SHOAL_CHECK_LE(course_.last, ledger_.samples_per_epoch());
}

// ---- Shares

std::uint64_t Dealer::left() const {
  if (over()) return 0;
  const std::uint64_t epoch = ledger_.epoch() + (ledger_.epoch_ended() ? 1 : 0);
  const std::uint64_t left = ledger_.left();
  if (epoch + 1 < course_.epochs) return left;
  const std::uint64_t never = ledger_.samples_per_epoch() - course_.last;
  return left - std::min(left, never);
}

bool Dealer::fresh() const { return !over() && ledger_.left() == ledger_.samples_per_epoch(); }

bool Dealer::over() const {
  if (past_ >= course_.epochs) return true;
  if (past_ > ledger_.epoch()) return false;
  if (ledger_.epoch_ended()) return true;
  // The last epoch may have fewer samples.
  const std::uint64_t never = ledger_.samples_per_epoch() - course_.last;
  return ledger_.epoch() + 1 == course_.epochs && never > 0 && ledger_.left() <= never &&
         std::ranges::all_of(open_, [](const auto& o) { return o.second.shares.empty(); });
}

std::optional<Share> Dealer::dealt(NodeId worker, Incarnation life, std::uint64_t number) const {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life || number < it->second.first) return {};
  const std::uint64_t at = number - it->second.first;
  return at < it->second.shares.size() ? std::optional(it->second.shares[at]) : std::nullopt;
}

std::optional<std::uint64_t> Dealer::next(NodeId worker, Incarnation life) const {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life) return {};
  return it->second.first + it->second.shares.size();
}

Share Dealer::deal(const Wish& wish) {
  Open& open = open_[wish.worker];
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

void Dealer::settle(NodeId worker, Open& open, std::uint64_t below, SampleEnd end) {
  std::vector<std::uint64_t>& dropped = dropped_[worker];
  while (!open.shares.empty() && open.first < below) {
    const bool refused = std::erase(dropped, open.first) > 0;
    ledger_.settle(open.shares.front(), refused ? SampleEnd::Dropped : end);
    open.shares.erase(open.shares.begin());
    ++open.first;
  }
}

void Dealer::drop(NodeId worker, Incarnation life, std::uint64_t number) {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life || number < it->second.first) return;
  std::vector<std::uint64_t>& dropped = dropped_[worker];
  if (std::ranges::find(dropped, number) == dropped.end()) dropped.push_back(number);
}

void Dealer::lose(NodeId worker, Incarnation life, std::uint64_t reached, SampleEnd end) {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life) return;
  settle(worker, it->second, reached, end);
  ledger_.revoke(worker, life);
  open_.erase(it);
  dropped_.erase(worker);
}

void Dealer::leave(NodeId worker, Incarnation life, std::uint64_t settled) {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life) return;
  settle(worker, it->second, settled, SampleEnd::Applied);
  ledger_.revoke(worker, life);
  it->second.shares.clear();
}

void Dealer::stop(Ending how) {
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

Dealer::Errand Dealer::errand(std::uint64_t epoch) const {
  if (past_ >= course_.epochs) return Errand::End;
  if (past_ > epoch) return Errand::GoOn;
  if (!over()) return Errand::GoOn;  // as it was saved earlier: that epoch is to be made again
  if (course_.rest && !rest_told_) return Errand::Rest;
  const bool all = std::ranges::all_of(scores_, [](const auto& s) { return s.has_value(); });
  return all || stopped_ == Ending::Stopped ? Errand::Save : Errand::Evaluate;
}

void Dealer::rest_told(std::uint64_t epoch) {
  if (ends_now(epoch)) rest_told_ = true;
}

void Dealer::score(std::uint64_t epoch, std::uint32_t block, const Score& score) {
  if (ends_now(epoch) && block < scores_.size()) scores_[block] = score;
}

void Dealer::saved(std::uint64_t epoch) {
  if (errand(epoch) != Errand::Save || epoch != ledger_.epoch()) return;
  total_ = Score();
  for (std::optional<Score>& s : scores_)
    total_ += std::exchange(s, std::nullopt).value_or(Score());
  rest_told_ = false;
  whole_ = true;
  past_ = epoch + 1;
}

std::uint64_t Dealer::ended() const {
  std::uint64_t n = 0;
  for (const std::uint64_t one : ledger_.tally().ended) n += one;
  for (const auto& [worker, open] : open_)
    for (std::uint64_t i = 0; i < open.shares.size() && open.first + i < open.pushed; ++i)
      n += open.shares[i].n;
  return n;
}

LedgerPlace Dealer::place() const {
  Ledger none_out = ledger_;
  none_out.revoke_all();
  return none_out.place();
}

// ---- As words

std::vector<std::uint64_t> Dealer::words() const {
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
  return w;
}

void Dealer::restore(const LedgerPlace& place) {
  ledger_.restore(place);
  past_ = place.epoch + (ledger_.epoch_ended() ? 1 : 0);
  rest_told_ = whole_ = false;
  for (std::optional<Score>& s : scores_) s.reset();
  open_.clear();
  dropped_.clear();
}

void Dealer::restore(std::span<const std::uint64_t> words) {
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
    open_[worker] = std::move(open);
  }
}

}  // namespace shoal
