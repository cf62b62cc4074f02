#include "replica/state_transfer.h"

#include <algorithm>
#include <utility>

#include "runtime/task_group.h"

namespace shoal {

void StateTransfer::begin() {
  if (before_) replica_.restore(*std::exchange(before_, std::nullopt));
  initial_ = due_ = false;
}

void StateTransfer::agreed(Rank source, std::vector<bool> in_need, Rank own) {
  source_ = source;
  in_need_ = std::move(in_need);
  due_ = std::ranges::count(in_need_, true) > 0;
  if (!in_need_[own.value()]) return;
  if (replica_.valid) {
    node_.env.probe("sync: a state was copied by one a step behind");
    before_ = replica_.progress();
  }
  replica_.valid = false;  // until all of it has arrived
}

void StateTransfer::make_initial_state() {
  learner_.initialize(replica_.w());
  std::ranges::fill(replica_.slots().data(), 0.0F);
  initial_ = true;
}

// ---- Where the source stands

Task<void> StateTransfer::announce(const Group& group) {
  if (group.rank == source_) {
    write_words();
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      for (std::uint32_t r = 0; r < group.size(); ++r)
        if (in_need_[r]) tasks.spawn(announce_to(group, group.view->at(Rank(r))));
      co_return;
    });
  } else if (in_need_[group.rank.value()]) {
    const NodeId from = group.view->at(source_);
    co_await take_part(group, from, 0, mut_buf(words_));
    spans_.resize(words_.back() * 3);
    if (!spans_.empty()) co_await take_part(group, from, 1, mut_buf(std::span(spans_)));
    read_words();
  }
}

Task<void> StateTransfer::announce_to(const Group& group, NodeId to) {
  co_await node_.endpoint.send(to, group.tag(operation_, 0), const_buf(words_));
  if (!spans_.empty())
    co_await node_.endpoint.send(to, group.tag(operation_, 1), const_buf(std::span(spans_)));
}

void StateTransfer::write_words() {
  const std::span<const float> rest = replica_.buffers().data();
  rest_.assign(rest.begin(), rest.end());
  const Progress now = replica_.progress();
  words_ = {initial_ ? 1U : 0U, now.step.value(), now.lineage.value(), now.ledger.epoch};
  std::ranges::copy(now.ledger.past, words_.begin() + 4);
  words_.back() = now.ledger.ended.size();
  spans_.clear();
  for (const LedgerPlace::Ended& e : now.ledger.ended)
    spans_.insert(spans_.end(), {e.at, e.n, static_cast<std::uint64_t>(e.end)});
}

void StateTransfer::read_words() {
  Progress there{Step(words_[1]), Generation(static_cast<std::uint32_t>(words_[2])), {}};
  there.ledger.epoch = words_[3];
  std::copy_n(words_.begin() + 4, kSampleEnds, there.ledger.past.begin());
  for (std::size_t i = 0; i < spans_.size(); i += 3)
    there.ledger.ended.push_back({spans_[i], spans_[i + 1], static_cast<SampleEnd>(spans_[i + 2])});
  initial_ = words_[0] != 0;
  replica_.restore(there);
  replica_.valid = false;
}

// ---- The numbers

Task<void> StateTransfer::run(const Group& group) {
  if (in_need_[group.rank.value()]) {
    if (initial_) {
      make_initial_state();
    } else {
      co_await take(group, group.view->at(source_));
    }
    if (before_) replica_.exchange_copies();
    before_.reset();
    replica_.valid = true;
  } else if (group.rank == source_ && !initial_) {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      for (std::uint32_t r = 0; r < group.size(); ++r)
        if (in_need_[r]) tasks.spawn(give(group, group.view->at(Rank(r))));
      co_return;
    });
  }
  due_ = false;
}

Task<void> StateTransfer::give(const Group& group, NodeId to) {
  co_await node_.endpoint.send(to, group.tag(operation_, 2), replica_.parameters().bytes());
  if (replica_.slots().n > Elements(0))
    co_await node_.endpoint.send(to, group.tag(operation_, 3), replica_.slots().bytes());
  if (!rest_.empty())
    co_await node_.endpoint.send(to, group.tag(operation_, 4), const_buf(std::span(rest_)));
}

Task<void> StateTransfer::take(const Group& group, NodeId from) {
  const Range w = before_ ? replica_.next_w() : replica_.w();
  const Range slots = before_ ? replica_.next_slots() : replica_.slots();
  co_await take_part(group, from, 2, w.slice(Elements(0), replica_.N).bytes());
  if (slots.n > Elements(0)) co_await take_part(group, from, 3, slots.bytes());
  const Range rest = w.slice(replica_.N, w.n - replica_.N);
  if (!rest.data().empty()) co_await take_part(group, from, 4, rest.bytes());
}

Task<void> StateTransfer::take_part(const Group& group, NodeId from, std::uint64_t part,
                                    MutBuf room) {
  const Match match{.from = from, .tag = group.tag(operation_, part)};
  const Received received = co_await node_.endpoint.recv(match, room);
  require_size(received, room.size);
}

}  // namespace shoal
