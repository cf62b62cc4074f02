#include "ps/sample_scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace shoal {

SampleScheduler::SampleScheduler(Ledger ledger, Course course)
    : ledger_(std::move(ledger)), course_(course), end_(course.blocks, course.buffers) {
  if (course_.last == 0) course_.last = ledger_.samples_per_epoch();
  SHOAL_CHECK_LE(course_.last, ledger_.samples_per_epoch());
}

// ---- In an epoch

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
  if (past() >= course_.epochs) return true;
  if (past() > ledger_.epoch()) return false;
  if (ledger_.epoch_ended()) return true;
  // The last epoch may have fewer samples.
  const std::uint64_t never = ledger_.samples_per_epoch() - course_.last;
  return ledger_.epoch() + 1 == course_.epochs && never > 0 && ledger_.left() <= never &&
         !round_.round() && shares_.empty();
}

void SampleScheduler::deal_round(std::uint64_t number, std::uint64_t n,
                                 std::span<const RoundPiece> pieces) {
  const bool is_new = !round_.round() || round_.round()->number != number;
  if (is_new) {
    round_.settle(ledger_);
    SHOAL_CHECK_LE(n, left());
  }
  round_.deal(ledger_, number, n, pieces);
}

void SampleScheduler::recall_round(const Round& round, std::span<const RoundPiece> pieces) {
  round_.recall(ledger_, round, pieces);
}

void SampleScheduler::lose(NodeId worker, Incarnation life, std::uint64_t reached, SampleEnd end) {
  round_.lose(worker, life);
  shares_.lose(ledger_, worker, life, reached, end);
}

void SampleScheduler::leave(NodeId worker, Incarnation life, std::uint64_t settled) {
  if (round_.settled_by(worker, life, settled)) round_.settle(ledger_);
  round_.lose(worker, life);
  shares_.leave(ledger_, worker, life, settled);
}

void SampleScheduler::drop(NodeId worker, Incarnation life, std::uint64_t number) {
  shares_.drop(worker, life, number);
}

void SampleScheduler::stop(Ending how) {
  if (stopped() || past() >= course_.epochs) return;
  stopped_ = how;
  if (fresh()) {
    course_.epochs = past();
  } else {
    course_.epochs = ledger_.epoch() + 1;
    course_.last = ledger_.samples_per_epoch() - (ledger_.epoch_ended() ? 0 : ledger_.left());
  }
}

// ---- At an epoch's end

EndOfEpochTask SampleScheduler::task(std::uint64_t epoch) const {
  if (past() >= course_.epochs) return EndOfEpochTask::Finish;
  if (past() > epoch) return EndOfEpochTask::Continue;
  // After a shard was loaded from an earlier checkpoint that epoch is trained again.
  if (!over()) return EndOfEpochTask::Continue;
  return end_.next_task(stopped_ != Ending::Stopped);
}

void SampleScheduler::buffers_sent(std::uint64_t epoch) {
  if (ends_now(epoch)) end_.buffers_sent();
}

void SampleScheduler::score(std::uint64_t epoch, std::uint32_t block, const Score& score) {
  if (ends_now(epoch)) end_.score(block, score);
}

void SampleScheduler::saved(std::uint64_t epoch) {
  if (task(epoch) != EndOfEpochTask::Save || epoch != ledger_.epoch()) return;
  end_.saved(epoch);
  whole_ = true;
}

std::uint64_t SampleScheduler::ended() const {
  std::uint64_t n = shares_.samples_in_pushes();
  for (const std::uint64_t one : ledger_.tally().ended) n += one;
  return n;
}

LedgerPlace SampleScheduler::place() const {
  Ledger none_open = ledger_;
  none_open.revoke_all();
  return none_open.place();
}

// ---- As words

std::vector<std::uint64_t> SampleScheduler::words() const {
  std::vector<std::uint64_t> w{course_.epochs, course_.last, static_cast<std::uint64_t>(stopped_),
                               whole_ ? 1U : 0U};
  put(w, end_.words());
  put(w, to_words(place()));
  put(w, shares_.words());
  put(w, round_.words());
  return w;
}

void SampleScheduler::restore(const LedgerPlace& place) {
  ledger_.restore(place);
  end_.restart(place.epoch + (ledger_.epoch_ended() ? 1 : 0));
  whole_ = false;
  shares_.clear();
  round_.clear();
}

void SampleScheduler::restore(std::span<const std::uint64_t> words) {
  course_.epochs = next_word(words);
  course_.last = next_word(words);
  stopped_ = static_cast<Ending>(next_word(words));
  const bool whole = next_word(words) != 0;
  EpochEnd end = end_;
  end.restore(words);
  const LedgerPlace place = place_from(words);
  restore(place);
  end_ = std::move(end);
  whole_ = whole;
  shares_.restore(ledger_, place.epoch, words);
  round_.restore(ledger_, words);
}

}  // namespace shoal
