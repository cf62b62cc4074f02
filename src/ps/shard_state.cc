#include "ps/shard_state.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "runtime/slices.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

constexpr std::size_t kRowWords = 6;
constexpr std::size_t kPendingWords = 6;

std::span<const float> floats_of(const Gradient& gradient) {
  return {reinterpret_cast<const float*>(gradient.bytes.data),
          gradient.bytes.size.value() / sizeof(float)};
}

std::vector<std::uint64_t> words_of(const Gradient& part) {
  std::vector<std::uint64_t> all(part.bytes.size.value() / sizeof(std::uint64_t));
  std::memcpy(all.data(), part.bytes.data, part.bytes.size.value());
  return all;
}

std::vector<double> doubles_of(const Gradient& gradient) {
  std::vector<double> all(gradient.bytes.size.value() / sizeof(double));
  std::memcpy(all.data(), gradient.bytes.data, gradient.bytes.size.value());
  return all;
}

void sort_by_worker(auto& pushes) {
  std::ranges::sort(pushes, {}, [](const auto& p) { return std::pair(p.worker, p.clock); });
}

}  // namespace

ShardState::ShardState(Node& node, ShardCut cut, Substance substance, const UpdatePlan& plan,
                       std::optional<SampleScheduler> scheduler)
    : node_(node),
      cut_(cut),
      substance_(substance),
      plan_(plan),
      sum_(rounds(plan.rule) > 0 || plan.shards > 0 ? cut.n : Elements(0), substance),
      slots_(cut.n * shoal::slots(plan.rule), substance),
      scheduler_(std::move(scheduler)) {
  now_ = spare();
}

// The state before an update stays as it is for those who read it.
std::shared_ptr<Version> ShardState::spare() {
  for (const std::shared_ptr<Version>& version : versions_)
    if (version.use_count() == 1) return version;
  versions_.push_back(std::make_shared<Version>(node_.endpoint, cut_.n, substance_));
  return versions_.back();
}

// A kind of record each. True: it begins an update.
struct ShardState::Applier {
  ShardState& shard;
  std::optional<Gradient>& part;

  bool operator()(const EnterRecord& r) const {
    shard.skip_to(r.clock);
    shard.table_.enter(r.worker, r.life, r.clock);
    return false;
  }
  bool operator()(const LeaveRecord& r) const {
    shard.skip_to(r.settled);
    if (ClockRow* const row = shard.table_.find(r.worker, r.life)) row->away = true;
    if (shard.scheduler_) shard.scheduler_->leave(r.worker, r.life, r.settled);
    return false;
  }
  bool operator()(const LoseRecord& r) const {
    shard.scheduler_->lose(r.worker, r.life, r.reached, r.end);
    return false;
  }
  bool operator()(const PushRecord& r) const {
    shard.take_push(r, std::move(*part));
    return r.completes != 0;
  }
  bool operator()(const RejectRecord& r) const {
    ClockRow& row = shard.row_of(r.worker, r.life);
    if (shard.scheduler_)
      for (std::uint64_t share = row.clock; share < r.clock; ++share)
        shard.scheduler_->drop(r.worker, r.life, share);
    row.clock = r.clock;
    return false;
  }
  bool operator()(const CompleteRecord&) const { return true; }
  bool operator()(const DealRecord& r) const {
    shard.scheduler_->deal(r.wish);
    return false;
  }
  bool operator()(const DealRoundRecord& r) const {
    shard.scheduler_->deal_round(r.number, r.n, pieces_from(words_of(*part)));
    return false;
  }
  bool operator()(const RecallRoundRecord& r) const {
    shard.scheduler_->recall_round(r.round, pieces_from(words_of(*part)));
    return false;
  }
  bool operator()(const StopRecord& r) const {
    shard.scheduler_->stop(r.how);
    return false;
  }
  bool operator()(const ScoreRecord& r) const {
    shard.scheduler_->score(r.epoch, static_cast<std::uint32_t>(r.block), r.score);
    return false;
  }
  bool operator()(const BuffersRecord& r) const {
    const std::span<const float> sent = floats_of(*part);
    shard.buffers_ = std::make_shared<const std::vector<float>>(sent.begin(), sent.end());
    shard.scheduler_->buffers_sent(r.epoch);
    return false;
  }
  bool operator()(const SavedRecord& r) const {
    shard.scheduler_->saved(r.epoch);
    return false;
  }
  bool operator()(const WholeRecord&) const {
    SHOAL_CHECK(false, "restore() takes it");
    return false;
  }
};

bool ShardState::apply(const AnyRecord& record, std::optional<Gradient> part) {
  SHOAL_CHECK_EQ(header_of(record).sequence, sequence_ + 1, "a record was left out");
  sequence_ = header_of(record).sequence;
  if (!std::visit(Applier{*this, part}, record)) return false;
  if (const auto* const push = std::get_if<PushRecord>(&record)) {
    begin_update(push->version, Sums());
  } else {
    Sums sums;
    if (part) sums.values = doubles_of(*part);
    begin_update(std::get<CompleteRecord>(record).version, std::move(sums));
  }
  return true;
}

ClockRow& ShardState::row_of(NodeId worker, Incarnation life) {
  ClockRow* const row = table_.find(worker, life);
  SHOAL_CHECK(row != nullptr, "a push of node {}, which never entered", worker);
  return *row;
}

void ShardState::take_push(const PushRecord& push, Gradient gradient) {
  ClockRow& row = row_of(push.worker, push.life);
  // A step may be several sums of logical shards.
  if (push.clock > row.clock || plan_.shards == 0)
    staleness_.add(version_ - std::min(version_, push.based_on));
  row.clock = std::max(row.clock, push.clock);
  // Known of some consistencies only.
  for (std::size_t i = 0; push.change != 0 && i < table_.rows.size(); ++i)
    if (&table_.rows[i] != &row) table_.rows[i].unseen += push.change;
  // Sums of a step before this one, which all shards had, will never be an update after the shard
  // was loaded; and the workers that pushed them wait until they are dropped.
  if (plan_.shards > 0)
    std::erase_if(pending_, [&](const Pending& p) { return p.clock < push.clock; });
  pending_.push_back(
      {push.worker, push.clock, push.samples, push.weight, std::move(gradient), push.of});
  added_up_ = false;
}

// The rounds before this one were in the parameters of all shards. A shard that was loaded may be
// behind; then it goes on without them, and what it has of them will never be an update.
void ShardState::skip_to(std::uint64_t round) {
  if (plan_.shards == 0 || round <= version_) return;
  node_.env.probe("ps: a shard that was loaded skipped rounds");
  version_ = round;
  std::erase_if(pending_, [&](const Pending& p) { return p.clock <= round; });
  added_up_ = false;
}

// The sum is taken in the order of workers, so that it does not depend on who was first.
UpdateStep ShardState::step_of(const std::vector<Pending>& pushes) const {
  double samples = 0;
  if (plan_.shards > 0) {  // Each push says how many all of them have.
    samples = static_cast<double>(pushes.front().samples);
    return {plan_.eta(version_), version_ + 1, plan_.mean ? samples : 1};
  }
  for (const Pending& p : pushes) samples += static_cast<double>(p.samples) / p.weight;
  return {plan_.eta(version_), version_ + 1, plan_.mean ? samples : 1};
}

void ShardState::begin_update(std::uint64_t version, Sums sums) {
  SHOAL_CHECK(!pending_.empty());
  SHOAL_CHECK(terms_.empty(), "an update begins before the one before it has ended");
  terms_ = std::move(pending_);
  pending_.clear();
  // What is left of a step that this shard was loaded without.
  if (plan_.shards > 0) std::erase_if(terms_, [&](const Pending& p) { return p.clock != version; });
  sort_by_worker(terms_);
  step_ = step_of(terms_);
  before_ = now_;
  constexpr long kOwn = 3;  // versions_, now_ and before_
  if (now_.use_count() > kOwn) now_ = spare();
  now_->begin(Elements(0));
  version_ = version;
  if (sums.values.empty()) return;
  sums_[version] = std::move(sums);
  if (sums_.size() > kSumsKept) sums_.erase(sums_.begin());
}

const Sums* ShardState::sums(std::uint64_t version) const {
  const auto it = sums_.find(version);
  return it == sums_.end() ? nullptr : &it->second;
}

Task<void> ShardState::add_up() { return add_up(pending_); }

Task<void> ShardState::add_up(std::vector<Pending>& pushes) {
  sort_by_worker(pushes);
  std::vector<const float*> terms;
  for (const Pending& p : pushes) terms.push_back(floats_of(p.gradient).data());
  const std::span<float> sum = sum_.all().data();
  if (plan_.shards > 0) {
    std::vector<Subtree> of;
    for (const Pending& p : pushes) of.push_back(p.of);
    const SliceWork slice = [&](std::size_t from, std::size_t to) {
      add_in_tree(plan_.shards, of, terms, from, to, sum.data());
    };
    co_await in_slices(node_.env, Work::Reduce, cut_.n.value(), sum.empty(), Order::Forward,
                       static_cast<double>(terms.size()), slice);
    added_up_ = true;
    co_return;
  }
  co_await in_slices(node_.env, Work::Reduce, cut_.n.value(), sum.empty(), Order::Forward,
                     static_cast<double>(terms.size()), [&](std::size_t from, std::size_t to) {
                       for (std::size_t i = from; i < to; ++i) {
                         sum[i] = terms[0][i];
                         for (std::size_t t = 1; t < terms.size(); ++t) sum[i] += terms[t][i];
                       }
                     });
  added_up_ = true;
}

Task<Sums> ShardState::measure(unsigned round, const Sums& so_far) {
  const UpdateTarget shard{now_->w.all(), sum_.all(), slots_.all(), cut_.at, plan_.segments};
  return shoal::measure(node_.env, plan_.rule, step_of(pending_), shard, round, so_far);
}

// All pieces are given out at once, as slices are (runtime/slices.h).
Task<void> ShardState::update() {
  const bool sums = rounds(plan_.rule) > 0 || plan_.shards > 0;
  if (sums && !added_up_) co_await add_up(terms_);
  added_up_ = false;
  const bool phantom = substance_ == Substance::Phantom;
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    const std::uint64_t pieces = phantom ? 1 : pieces_of(cut_.n);
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const Elements at = kPiece * i;
      tasks.spawn(update_piece(at, pieces == 1 ? cut_.n : std::min(kPiece, cut_.n - at)));
    }
    co_return;
  });
  terms_.clear();
  before_.reset();
}

Task<void> ShardState::update_piece(Elements at, Elements n) {
  std::vector<const float*> terms;
  for (const Pending& p : terms_) {
    const float* const g = floats_of(p.gradient).data();
    terms.push_back(g == nullptr ? nullptr : g + at.value());
  }
  const unsigned k = shoal::slots(plan_.rule);
  const Range slots = k == 0 ? Range() : slots_.range(at, cut_.n * (k - 1) + n);
  const bool norms = rounds(plan_.rule) > 0;
  const bool added_up = norms || plan_.shards > 0;
  const Range g = added_up ? sum_.range(at, n) : now_->w.range(at, n);
  UpdateTarget shard{now_->w.range(at, n), g, slots, cut_.at + at, plan_.segments};
  shard.stride = cut_.n;
  if (!added_up) shard.terms = terms;
  if (before_ != now_) {
    shard.before_w = before_->w.range(at, n);
    shard.before_slots = slots;
  }
  const Sums none;
  const Sums& sums = norms ? sums_.at(version_) : none;
  if (n > Elements(0)) co_await shoal::apply(node_.env, plan_.rule, step_, shard, sums);
  now_->made = at + n;
  now_->more.notify_all();
}

std::vector<std::uint64_t> ShardState::words() const {
  std::vector<std::uint64_t> all{table_.rows.size(), pending_.size()};
  for (const ClockRow& row : table_.rows)
    all.insert(all.end(), {row.worker.value(), row.life.value(), row.clock, row.version,
                           std::bit_cast<std::uint64_t>(row.unseen), row.away ? 1U : 0U});
  for (const Pending& p : pending_)
    all.insert(all.end(), {p.worker.value(), p.clock, p.samples,
                           std::bit_cast<std::uint64_t>(p.weight), p.of.from, p.of.to});
  const auto add = [&](const std::vector<std::uint64_t>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  add(to_words(staleness_));
  all.push_back(buffers_ ? buffers_->size() : 0);
  for (std::size_t i = 0; buffers_ && i < buffers_->size(); ++i)
    all.push_back(std::bit_cast<std::uint32_t>((*buffers_)[i]));
  if (scheduler_) add(scheduler_->words());
  return all;
}

bool ShardState::waits(NodeId worker) const {
  return std::ranges::find(pending_, worker, &Pending::worker) != pending_.end();
}

bool ShardState::has_sum(std::uint64_t clock, Subtree of) const {
  return std::ranges::any_of(pending_,
                             [&](const Pending& p) { return p.clock == clock && p.of == of; });
}

bool ShardState::has_all(std::uint64_t clock, Subtree with) const {
  std::vector<Subtree> held{with};
  for (const Pending& p : pending_)
    if (p.clock == clock) held.push_back(p.of);
  return cover(plan_.shards, held);
}

std::optional<std::uint64_t> ShardState::most_waiting() const {
  const auto it = std::ranges::max_element(pending_, {}, &Pending::clock);
  return it == pending_.end() ? std::nullopt : std::optional(it->clock);
}

std::vector<Gradient> ShardState::waiting() const {
  std::vector<Gradient> all;
  for (const Pending& p : pending_) all.push_back(p.gradient);
  return all;
}

void ShardState::load(const Image& image, std::uint64_t version) {
  version_ = version;
  now_ = spare();
  now_->begin(cut_.n);
  std::ranges::copy(image.w, now_->w.all().data().begin());
  std::ranges::copy(image.slots, slots_.all().data().begin());
  buffers_.reset();
  if (!image.buffers.empty())
    buffers_ =
        std::make_shared<const std::vector<float>>(image.buffers.begin(), image.buffers.end());
}

void ShardState::restore(const WholeRecord& whole, const Image& image,
                         std::span<const std::uint64_t> words, std::vector<Gradient> waiting) {
  load(image, whole.version);
  sequence_ = whole.header.sequence;
  pending_.clear();
  sums_.clear();
  added_up_ = false;
  table_.clear();
  const auto take = [&](std::size_t n) {
    SHOAL_CHECK_LE(n, words.size(), "the shard's state is too short");
    const std::span<const std::uint64_t> taken = words.first(n);
    words = words.subspan(n);
    return taken;
  };
  const auto counts = take(2);
  for (std::uint64_t i = 0; i < counts[0]; ++i) {
    const auto row = take(kRowWords);
    table_.rows.push_back({NodeId(static_cast<std::uint32_t>(row[0])),
                           Incarnation(static_cast<std::uint32_t>(row[1])), row[2], row[3],
                           std::bit_cast<double>(row[4]), false, row[5] != 0});
  }
  SHOAL_CHECK_EQ(counts[1], waiting.size());
  for (Gradient& gradient : waiting) {
    const auto p = take(kPendingWords);
    pending_.push_back(
        {NodeId(static_cast<std::uint32_t>(p[0])), p[1], p[2], std::bit_cast<double>(p[3]),
         std::move(gradient),
         Subtree{static_cast<std::uint32_t>(p[4]), static_cast<std::uint32_t>(p[5])}});
  }
  staleness_ = staleness_from(words);
  if (const std::uint64_t n = take(1)[0]; n > 0) {
    std::vector<float> buffers;
    for (const std::uint64_t word : take(n))
      buffers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
    buffers_ = std::make_shared<const std::vector<float>>(std::move(buffers));
  }
  if (scheduler_) scheduler_->restore(words);
}

}  // namespace shoal
