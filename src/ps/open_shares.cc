#include "ps/open_shares.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "ps/ledger_words.h"

namespace shoal {

std::optional<Share> OpenShares::dealt(NodeId worker, Incarnation life,
                                       std::uint64_t number) const {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life || number < it->second.first) return {};
  const std::uint64_t at = number - it->second.first;
  return at < it->second.shares.size() ? std::optional(it->second.shares[at]) : std::nullopt;
}

std::optional<std::uint64_t> OpenShares::next(NodeId worker, Incarnation life) const {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life) return {};
  return it->second.first + it->second.shares.size();
}

std::uint64_t OpenShares::in_pushes(const Open& open) {
  std::uint64_t samples = 0;
  for (std::uint64_t i = 0; i < open.shares.size() && open.first + i < open.pushed; ++i)
    samples += open.shares[i].n;
  return samples;
}

void OpenShares::put_on(const Open& open) {
  shares_ += open.shares.size();
  in_pushes_ += in_pushes(open);
}

void OpenShares::take_off(const Open& open) {
  shares_ -= open.shares.size();
  in_pushes_ -= in_pushes(open);
}

Share OpenShares::deal(Ledger& ledger, const Wish& wish, std::uint64_t left) {
  Open& open = open_[wish.worker];
  take_off(open);
  const Share share = deal(ledger, wish, left, open);
  put_on(open);
  return share;
}

Share OpenShares::deal(Ledger& ledger, const Wish& wish, std::uint64_t left, Open& open) {
  if (open.life != wish.life) {
    SHOAL_CHECK(open.shares.empty(), "node {} has shares of another life", wish.worker);
    open = Open{wish.life, wish.number, {}, 0};
    dropped_.erase(wish.worker);
  }
  settle(ledger, wish.worker, open, wish.settled, SampleEnd::Applied);
  open.pushed = std::max(open.pushed, wish.pushed);
  if (open.shares.empty()) open.first = std::max(open.first, wish.number);
  if (const auto before = dealt(wish.worker, wish.life, wish.number)) return *before;
  if (wish.number < open.first || wish.n == 0 || left == 0) return {};
  SHOAL_CHECK_EQ(wish.number, open.first + open.shares.size(), "shares are asked for in order");
  open.shares.push_back(ledger.deal(wish.worker, wish.life, std::min(wish.n, left)));
  return open.shares.back();
}

void OpenShares::settle(Ledger& ledger, NodeId worker, Open& open, std::uint64_t below,
                        SampleEnd end) {
  std::vector<std::uint64_t>& dropped = dropped_[worker];
  while (!open.shares.empty() && open.first < below) {
    const bool refused = std::erase(dropped, open.first) > 0;
    ledger.settle(open.shares.front(), refused ? SampleEnd::Dropped : end);
    open.shares.erase(open.shares.begin());
    ++open.first;
  }
}

void OpenShares::drop(NodeId worker, Incarnation life, std::uint64_t number) {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life || number < it->second.first) return;
  std::vector<std::uint64_t>& dropped = dropped_[worker];
  if (std::ranges::find(dropped, number) == dropped.end()) dropped.push_back(number);
}

void OpenShares::lose(Ledger& ledger, NodeId worker, Incarnation life, std::uint64_t reached,
                      SampleEnd end) {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life) return;
  take_off(it->second);
  settle(ledger, worker, it->second, reached, end);
  ledger.revoke(worker, life);
  open_.erase(it);
  dropped_.erase(worker);
}

void OpenShares::leave(Ledger& ledger, NodeId worker, Incarnation life, std::uint64_t settled) {
  const auto it = open_.find(worker);
  if (it == open_.end() || it->second.life != life) return;
  Open& open = it->second;
  take_off(open);
  settle(ledger, worker, open, settled, SampleEnd::Applied);
  if (open.shares.empty()) return;
  ledger.revoke(worker, life);
  open.shares.clear();
}

void OpenShares::clear() {
  open_.clear();
  dropped_.clear();
  shares_ = in_pushes_ = 0;
}

std::vector<std::uint64_t> OpenShares::words() const {
  std::vector<std::uint64_t> w{open_.size()};
  for (const auto& [worker, open] : open_) {
    const auto dropped = dropped_.find(worker);
    const std::size_t drops = dropped == dropped_.end() ? 0 : dropped->second.size();
    put(w, {worker.value(), open.life.value(), open.first, open.shares.size(), drops, open.pushed});
    for (const Share& s : open.shares) put(w, {s.at, s.n});
    for (std::size_t i = 0; i < drops; ++i) w.push_back(dropped->second[i]);
  }
  return w;
}

void OpenShares::restore(Ledger& ledger, std::uint64_t epoch,
                         std::span<const std::uint64_t>& words) {
  const auto next = [&] { return next_word(words); };
  for (std::uint64_t workers = next(); workers > 0; --workers) {
    const NodeId worker(static_cast<std::uint32_t>(next()));
    const Incarnation life(static_cast<std::uint32_t>(next()));
    Open open{life, next(), {}, 0};
    const std::uint64_t shares = next();
    const std::uint64_t drops = next();
    open.pushed = next();
    for (std::uint64_t i = 0; i < shares; ++i) {
      const std::uint64_t at = next();
      open.shares.push_back({epoch, at, next()});
      ledger.claim(worker, life, open.shares.back());
    }
    for (std::uint64_t i = 0; i < drops; ++i) dropped_[worker].push_back(next());
    put_on(open);
    open_[worker] = std::move(open);
  }
}

}  // namespace shoal
