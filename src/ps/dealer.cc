#include "ps/dealer.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace shoal {
namespace {

// Numbers one after the other, and back.
struct Words {
  std::vector<std::uint64_t> all;
  void put(std::uint64_t word) { all.push_back(word); }
};
struct Reader {
  std::span<const std::uint64_t> left;
  std::uint64_t next() {
    SHOAL_CHECK(!left.empty(), "the dealer's state is too short");
    const std::uint64_t word = left.front();
    left = left.subspan(1);
    return word;
  }
};

}  // namespace

Dealer::Now Dealer::ask(const Wish& wish) const {
  const auto it = open_.find(wish.worker);
  const bool known = it != open_.end() && it->second.life == wish.life;
  if (known && wish.number < it->second.first + it->second.shares.size()) return Now::Share;
  // The last shares of an epoch may be this worker's own.
  Dealer after = *this;
  if (known) after.settle(after.open_[wish.worker], wish.settled, SampleEnd::Applied);
  if (after.over()) return Now::Over;
  return after.ledger_.left() > 0 ? Now::Share : Now::Nothing;
}

bool Dealer::settles(const Wish& wish) const {
  const auto it = open_.find(wish.worker);
  return it != open_.end() && it->second.life == wish.life && !it->second.shares.empty() &&
         it->second.first < wish.settled;
}

Share Dealer::deal(const Wish& wish) {
  Open& open = open_[wish.worker];
  if (open.life != wish.life) {
    SHOAL_CHECK(open.shares.empty(), "node {} has shares of another life", wish.worker);
    open = Open{wish.life, wish.number, {}};
    dropped_.erase(wish.worker);
  }
  settle(open, wish.settled, SampleEnd::Applied);
  if (open.shares.empty()) open.first = std::max(open.first, wish.number);
  if (wish.number < open.first + open.shares.size())
    return wish.number < open.first ? Share() : open.shares[wish.number - open.first];
  if (over() || ledger_.left() == 0) return {};
  SHOAL_CHECK_EQ(wish.number, open.first + open.shares.size(), "shares are asked for in order");
  open.shares.push_back(ledger_.deal(wish.worker, wish.life, wish.n));
  return open.shares.back();
}

Dealer::Errand Dealer::errand(std::uint64_t epoch) const {
  if (past_ >= epochs_) return Errand::End;
  if (past_ > epoch) return Errand::GoOn;
  if (!over()) return Errand::GoOn;  // as it was saved earlier: that epoch is to be made again
  const bool all = std::ranges::all_of(scores_, [](const auto& s) { return s.has_value(); });
  return all ? Errand::Save : Errand::Evaluate;
}

void Dealer::score(std::uint64_t epoch, std::uint32_t block, const Score& score) {
  if (over() && epoch == ledger_.epoch() && block < scores_.size()) scores_[block] = score;
}

void Dealer::saved(std::uint64_t epoch) {
  if (errand(epoch) != Errand::Save || epoch != ledger_.epoch()) return;
  total_ = Score();
  for (std::optional<Score>& s : scores_) total_ += *std::exchange(s, std::nullopt);
  past_ = epoch + 1;
}

void Dealer::settle(Open& open, std::uint64_t below, SampleEnd end) {
  const auto worker =
      std::ranges::find_if(open_, [&](const auto& o) { return &o.second == &open; });
  std::vector<std::uint64_t>& dropped = dropped_[worker->first];
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
  settle(it->second, reached, end);
  ledger_.revoke(worker, life);
  open_.erase(it);
  dropped_.erase(worker);
}

LedgerPlace Dealer::place() const {
  Ledger none_out = ledger_;
  none_out.revoke_all();
  return none_out.place();
}

std::vector<std::uint64_t> Dealer::words() const {
  Words w;
  const auto put_score = [&](const Score& s) {
    for (const std::uint64_t word :
         {std::bit_cast<std::uint64_t>(s.loss), s.samples, s.predictions, s.correct})
      w.put(word);
  };
  w.put(past_);
  put_score(total_);
  for (const std::optional<Score>& s : scores_) {
    w.put(s ? 1 : 0);
    put_score(s.value_or(Score()));
  }
  const LedgerPlace at = place();
  w.put(at.epoch);
  for (const std::uint64_t n : at.past) w.put(n);
  w.put(at.ended.size());
  for (const LedgerPlace::Ended& e : at.ended)
    for (const std::uint64_t word : {e.at, e.n, static_cast<std::uint64_t>(e.end)}) w.put(word);
  w.put(open_.size());
  for (const auto& [worker, open] : open_) {
    const auto dropped = dropped_.find(worker);
    const std::size_t drops = dropped == dropped_.end() ? 0 : dropped->second.size();
    for (const std::uint64_t word :
         {std::uint64_t{worker.value()}, std::uint64_t{open.life.value()}, open.first,
          std::uint64_t{open.shares.size()}, std::uint64_t{drops}})
      w.put(word);
    for (const Share& s : open.shares) {
      w.put(s.at);
      w.put(s.n);
    }
    for (std::size_t i = 0; i < drops; ++i) w.put(dropped->second[i]);
  }
  return w.all;
}

void Dealer::restore(const LedgerPlace& place) {
  ledger_.restore(place);
  past_ = place.epoch + (ledger_.epoch_ended() ? 1 : 0);
  for (std::optional<Score>& s : scores_) s.reset();
  open_.clear();
  dropped_.clear();
}

void Dealer::restore(std::span<const std::uint64_t> words) {
  Reader r{words};
  const auto next_score = [&] {
    const auto loss = std::bit_cast<double>(r.next());
    const std::uint64_t samples = r.next();
    const std::uint64_t predictions = r.next();
    return Score{loss, samples, predictions, r.next()};
  };
  const std::uint64_t past = r.next();
  const Score total = next_score();
  std::vector<std::optional<Score>> scores(scores_.size());
  for (std::optional<Score>& s : scores) {
    const bool there = r.next() != 0;
    const Score one = next_score();
    if (there) s = one;
  }
  LedgerPlace place;
  place.epoch = r.next();
  for (std::uint64_t& n : place.past) n = r.next();
  place.ended.resize(r.next());
  for (LedgerPlace::Ended& e : place.ended) {
    e.at = r.next();
    e.n = r.next();
    e.end = static_cast<SampleEnd>(r.next());
  }
  restore(place);
  past_ = past;
  total_ = total;
  scores_ = std::move(scores);
  for (std::uint64_t workers = r.next(); workers > 0; --workers) {
    const NodeId worker(static_cast<std::uint32_t>(r.next()));
    Open open{Incarnation(static_cast<std::uint32_t>(r.next())), r.next(), {}};
    const std::uint64_t shares = r.next();
    const std::uint64_t drops = r.next();
    for (std::uint64_t i = 0; i < shares; ++i) {
      const std::uint64_t at = r.next();
      open.shares.push_back({place.epoch, at, r.next()});
      ledger_.claim(worker, open.life, open.shares.back());
    }
    for (std::uint64_t i = 0; i < drops; ++i) dropped_[worker].push_back(r.next());
    open_[worker] = std::move(open);
  }
}

}  // namespace shoal
