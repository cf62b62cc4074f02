#include "sync/sync_step.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "collective/direct.h"
#include "collective/dissemination.h"
#include "collective/exchange.h"
#include "collective/tree.h"
#include "replica/segments.h"
#include "runtime/slices.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

// What the last step counts for in a worker's speed. A core that somebody else uses too is slow for
// some ten steps: with 0.2 shares came after it too late, with 1 every hiccup moves them.
constexpr double kNewSpeed = 0.5;

// What lies with its owner and is seen by all begins with a page.
constexpr Elements kPageElements{4096 / sizeof(float)};

// Nearly equal parts, of whole units where there are many of these for each; the last unit may be
// cut off.
Cuts cuts_of_view(Elements n, std::uint64_t parts, Elements unit) {
  constexpr std::uint64_t kMany = 64;
  const std::uint64_t size = n.value() >= kMany * parts * unit.value() ? unit.value() : 1;
  const Range units{nullptr, Elements(0), Elements((n.value() + size - 1) / size)};
  Cuts cuts;
  for (std::uint64_t i = 0; i < parts; ++i) {
    const Range part = part_of(units, i, parts);
    const Elements from = std::min(n, part.at * size);
    cuts.push_back({from, std::min(n, (part.at + part.n) * size) - from});
  }
  return cuts;
}

}  // namespace

SyncStep::SyncStep(Node& node, Learner& learner, Replica& replica, const SyncOptions& options)
    : node_(node),
      learner_(learner),
      replica_(replica),
      options_(options),
      segments_(segments_of(learner.layout())),
      parts_(node, replica, slots(options.rule), learner.substance()),
      updater_(options.recipe.updater),
      shard_sums_(node, replica.N, learner.substance()) {
  make_encoder();
}

void SyncStep::begin_view(const View& view, std::vector<bool> guests) {
  guests_ = std::move(guests);
  speeds_.assign(view.size(), 0);
  own_note_ = StepNote();
  const bool one_host = std::ranges::all_of(
      view.members, [&](const Member& m) { return m.host == view.members[0].host; });
  const Updater updater = updater_;
  in_place_ = updater == Updater::Everyone || updater == Updater::Apart ||
              (updater == Updater::Owners && one_host) || view.size() == 1;
  // What of it can be begun early is in sync_priority.cc.
  in_chunks_ = options_.recipe.priority && !one_host;
  goes_early_ = in_chunks_ && updater == Updater::Everyone && view.size() > 1 &&
                rounds(options_.rule) == 0 && replica_.buffers().n == Elements(0) &&
                options_.recipe.balance == Balance::Even && options_.recipe.accumulate == 1 &&
                options_.recipe.epoch_fraction >= 1;
  gate_.reset();
  if (goes_early_) in_place_ = false;
  added_late_ = in_place_ && updater == Updater::Owners && view.size() > 1 &&
                options_.recipe.shards == 0 && rounds(options_.rule) == 0;
  // Running statistics are written by forward passes, beside the parameters.
  const bool parameters_stay = added_late_ && replica_.buffers().n == Elements(0) &&
                               replica_.g().bytes().size >= options_.hold_parameters;
  // Two that make both parts (finish_parts) have all of them anyway; norms may need them whole.
  const bool slots_stay = in_place_ && updater == Updater::Owners &&
                          view.size() > (added_late_ ? 2 : 1) && slots(options_.rule) > 0 &&
                          rounds(options_.rule) == 0;
  cuts_ = cuts_of_view(replica_.N, view.size(), parameters_stay ? kPageElements : Elements(1));
  parts_.begin_view(parameters_stay || slots_stay ? cuts_ : Cuts(), *view.rank_of(node_.id),
                    parameters_stay);
  const bool tunes = options_.tune_buckets > Bytes(0) && updater == Updater::Owners &&
                     !added_late_ && options_.recipe.shards == 0 && options_.recipe.overlap &&
                     view.size() > 1;
  tuner_ =
      tunes ? BucketTuner(options_.tune_buckets, replica_.g().all().bytes().size) : BucketTuner();
}

Task<std::string> SyncStep::choose_exchange(const Group& group, bool anew) {
  if (chooses_encoding() && group.size() > 1) {
    std::string why = co_await choose_encodings(group, anew);
    co_return why;
  }
  const bool open = updater_ == Updater::Everyone && options_.recipe.exchange == Exchange::Auto &&
                    !in_chunks_ && !shoal::encodes(options_.recipe) && group.size() > 1;
  if (!open) co_return "";
  links_.emplace(node_.endpoint, learner_.substance());
  costs_ = co_await known_links(group, *links_, "links", shoal::operation(operations::kLinks));
  const Bytes size(replica_.N.value() * sizeof(float));
  co_return choose(costs_, shape_of(group), size).why;
}

Exchange SyncStep::exchange_of(const Group& group, Bytes size) const {
  if (in_chunks_) return Exchange::Direct;
  const Exchange exchange = options_.recipe.exchange;
  if (exchange != Exchange::Auto) return exchange;
  return choose(costs_, shape_of(group), size).exchange;
}

void SyncStep::state_arrived() {
  rest_kept_ = false;
  state_here_.notify_all();
}

void SyncStep::give_up() {
  if (replica_.valid) put_rest_back();
  rest_kept_ = false;
  refuse_early_pass();
}

// ---- The step

Task<void> SyncStep::run(const Group& group) {
  report_ = StepReport();
  report_.step = replica_.step;
  report_.epoch = micro_shards_.front().shares.front().epoch;
  report_.eta = update_step().eta;
  buckets_.clear();
  keep_rest();
  const Time begin = node_.env.now();
  // Others may still read the gradient of the last step; that of the one before is free.
  if (added_late_) {
    replica_.exchange_gradients();
    turn_ = 1 - turn_;
  }
  co_await returned(gradients_lent_[turn_]);
  begin_encoding(group);
  co_await take_early_pass(group);
  if (in_chunks_) begin_chunks(group);
  if (options_.recipe.shards > 0) {
    co_await compute_shards(group);
  } else if (options_.recipe.stragglers != StragglerPolicy::All) {
    co_await compute_until_decided(group);
  }
  const bool computed =
      options_.recipe.shards > 0 || options_.recipe.stragglers != StragglerPolicy::All;
  Channel<Ready> ready;
  in_pass_.reset();
  if (options_.recipe.batch_norm.over == BatchNorm::Over::Workers && group.size() > 1)
    in_pass_.emplace(group, statistics_, shoal::operation(operations::kInPass, replica_.step));
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    if (!computed) {
      if (in_pass_) tasks.spawn(in_pass_->serve());
      if (taken_ != nullptr) {
        tasks.spawn(follow_early_pass(group));
      } else {
        tasks.spawn(compute_now(ready, group));
      }
      Channel<Ready>& made = taken_ != nullptr ? taken_->ready : ready;
      if (in_chunks_) {
        co_await exchange_chunks(group, made, tasks);
      } else {
        co_await exchange_as_ready(group, made, tasks);
      }
    }
    if (computed || (!options_.recipe.overlap && !in_chunks_))
      for (const Ready& bucket : buckets_) tasks.spawn(exchange(group, bucket));
  });
  total_ = Sums();
  if (rounds(options_.rule) > 0) total_ = co_await norms(group);
  if (!in_place_ && rounds(options_.rule) > 0)
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      for (const Ready& bucket : buckets_) {
        co_await apply(own_part(group, bucket));
        tasks.spawn(spread(group, bucket));
      }
    });
  co_await average_rest(group);
  if (in_place_ && updater_ == Updater::Owners && group.size() > 1) co_await hold_gradients(group);
  co_await all_returned();
  begun_ = begin;
}

Task<void> SyncStep::compute_now(Channel<Ready>& ready, const Group& group) {
  co_await compute(ready, group);
  begin_early_pass(group);
}

// Buckets that lie side by side are joined, in whichever direction backward goes.
Task<void> SyncStep::exchange_as_ready(const Group& group, Channel<Ready>& ready,
                                       TaskGroup& tasks) {
  bool open = false;  // the last one may still be joined by the next
  const auto leaves = [&] {
    if (std::exchange(open, false) && options_.recipe.overlap)
      tasks.spawn(exchange(group, buckets_.back()));
  };
  while (auto bucket = co_await ready.next()) {
    // One that goes as factors is alone.
    const bool joins = open && !by_factors(group, *bucket) && !by_factors(group, buckets_.back());
    const bool before = joins && bucket->at + bucket->n == buckets_.back().at;
    const bool behind = joins && buckets_.back().at + buckets_.back().n == bucket->at;
    if (before || behind) {
      buckets_.back().at = std::min(buckets_.back().at, bucket->at);
      buckets_.back().n += bucket->n;
    } else {
      leaves();
      SHOAL_CHECK_LT(buckets_.size(), kBucketsMax);
      bucket->bucket = static_cast<std::uint32_t>(buckets_.size());
      buckets_.push_back(std::move(*bucket));
      open = true;
    }
    if (buckets_.back().n.value() * sizeof(float) >= tuner_.size().value()) leaves();
  }
  leaves();
}

// One bucket: its sum, and where the next state is a copy also that.
Task<void> SyncStep::exchange(const Group& group, Ready bucket) {
  const Time begin = node_.env.now();
  co_await reduce(group, bucket);
  report_.exchanges.push_back({bucket.bucket, begin, node_.env.now()});
  // All must be reduced before any is applied, where norms are asked for.
  if (in_place_ || rounds(options_.rule) > 0) co_return;
  co_await apply(own_part(group, bucket));
  co_await spread(group, bucket);
}

std::uint64_t SyncStep::operation(const Ready& bucket, BucketOperation what,
                                  std::uint64_t i) const {
  return shoal::operation(replica_.step, bucket.bucket, what, i);
}

Task<void> SyncStep::reduce(const Group& group, const Ready& bucket) {
  const Range g = replica_.g().range(bucket.at, bucket.n);
  const std::uint64_t number = operation(bucket, BucketOperation::Reduce);
  switch (updater_) {
    case Updater::Everyone: {
      if (encodes_now()) {
        co_await reduce_encoded(group, g, number);
        co_return;
      }
      if (by_factors(group, bucket)) {
        co_await reduce_factors(group, bucket, number);
        co_return;
      }
      if (group.size() == 1) co_return;
      const Range scratch = replica_.scratch().range(bucket.at, bucket.n);
      co_await all_reduce(exchange_of(group, g.bytes().size), group, g, scratch, number);
      break;
    }
    case Updater::Owners:
      if (added_late_) co_return;
      if (options_.recipe.shards > 0) {
        co_await reduce_shards(group, bucket, number);
      } else {
        const Cuts cuts = cuts_of(group, bucket);
        co_await direct_reduce_scatter(group, g, cuts, terms_, number);
      }
      break;
    case Updater::Apart:
    case Updater::Servers:
    case Updater::Decentral: break;  // served.h, decentral/
    case Updater::Root:
      co_await tree_reduce(group, Rank(0), g, replica_.scratch().range(bucket.at, bucket.n),
                           number);
      break;
  }
}

// Where norms are asked for everyone needs the whole gradient: a sum of the members' own sums would
// depend on how many they are.
Task<void> SyncStep::reduce_shards(const Group& group, const Ready& bucket, std::uint64_t number) {
  std::vector<Range> own;
  for (const Range& sum : own_sums_) own.push_back(sum.slice(bucket.at, bucket.n));
  const Cuts cuts = cuts_of(group, bucket);
  co_await fixed_tree_reduce_scatter(group, options_.recipe.shards, held_, own, cuts,
                                     own_part(group, bucket), number);
  const Range g = replica_.g().range(bucket.at, bucket.n);
  if (rounds(options_.rule) > 0)
    co_await direct_all_gather(group, g, cuts, operation(bucket, BucketOperation::GatherSum));
}

// The parts of the members are those of the whole range, so that each is one piece.
Cuts SyncStep::cuts_of(const Group& group, const Ready& bucket) {
  Cuts cuts;
  for (std::uint32_t r = 0; r < group.size(); ++r) {
    const Range whole = part(group, Rank(r));
    const Elements from = std::clamp(whole.at, bucket.at, bucket.at + bucket.n);
    const Elements to = std::clamp(whole.at + whole.n, bucket.at, bucket.at + bucket.n);
    cuts.push_back({from - bucket.at, to - from});
  }
  return cuts;
}

Range SyncStep::own_part(const Group& group, const Ready& bucket) {
  const Range g = replica_.g().range(bucket.at, bucket.n);
  switch (updater_) {
    case Updater::Everyone:
    case Updater::Servers:
    case Updater::Decentral:
    case Updater::Apart: return g;
    case Updater::Owners: return cut_of(g, cuts_of(group, bucket)[group.rank.value()]);
    case Updater::Root: return g.slice(Elements(0), group.rank == Rank(0) ? g.n : Elements(0));
  }
  return g;
}

// Of one array of the state, 0 being the parameters, what belongs to these elements of the
// gradient.
Range SyncStep::array_part(const Range& of_g, unsigned array, bool next) {
  const Range all = array == 0 ? (next ? replica_.next_w() : replica_.whole_w())
                               : (next ? replica_.next_slots() : replica_.slots());
  return all.slice(array == 0 ? of_g.at : replica_.N * (array - 1) + of_g.at, of_g.n);
}

Task<void> SyncStep::spread(const Group& group, const Ready& bucket) {
  if (group.size() == 1) co_return;
  const Cuts cuts = cuts_of(group, bucket);
  const unsigned arrays = 1 + slots(options_.rule);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (unsigned a = 0; a < arrays; ++a) {
      const Range range = array_part(replica_.g().range(bucket.at, bucket.n), a, true);
      const std::uint64_t number = operation(bucket, BucketOperation::Spread, a);
      tasks.spawn(updater_ == Updater::Owners ? direct_all_gather(group, range, cuts, number)
                                              : tree_broadcast(group, Rank(0), range, number));
    }
    co_return;
  });
}

// ---- What the members tell each other

Task<void> SyncStep::tell(const Group& group) {
  const std::vector<StepNote> notes =
      co_await notes_.of_all(group, own_note_, shoal::operation(operations::kNotes, replica_.step));
  std::uint64_t longest = 0;
  for (const StepNote& note : notes) longest = std::max(longest, note.step_ns);
  if (longest > 0) tuner_.took(Duration(longest));
  if (longest > 0) watch_links(Duration(longest));
  for (std::size_t r = 0; r < notes.size(); ++r) {
    if (notes[r].samples == 0 || notes[r].compute_ns == 0) continue;
    const double speed =
        1e9 * static_cast<double>(notes[r].samples) / static_cast<double>(notes[r].compute_ns);
    speeds_[r] = speeds_[r] <= 0 ? speed : (1 - kNewSpeed) * speeds_[r] + kNewSpeed * speed;
  }
}

StepReport SyncStep::commit() {
  if (encodes_now()) commit_encoding();
  Share run;  // of what lies end to end
  for (const MicroShard& micro_shard : micro_shards_) {
    std::uint64_t left = micro_shard.counted;
    for (const Share& share : micro_shard.shares) {
      const std::uint64_t n = std::min(left, share.n);
      left -= n;
      if (share.epoch != run.epoch || share.at != run.at + run.n) {
        replica_.ledger.settle(run, SampleEnd::Applied);
        run = {share.epoch, share.at, 0};
      }
      run.n += n;
    }
  }
  replica_.ledger.settle(run, SampleEnd::Applied);
  if (options_.recipe.stragglers == StragglerPolicy::First) {
    replica_.ledger.settle_leases(SampleEnd::Dropped);
  } else {
    replica_.ledger.revoke_all();  // What was left over comes first next time.
  }
  const LedgerPlace place = replica_.ledger.place();
  const auto all = static_cast<double>(replica_.ledger.samples_per_epoch());
  if (static_cast<double>(place.done()) >= options_.recipe.epoch_fraction * all)
    replica_.ledger.drop_rest();
  ++replica_.step;
  report_.samples = batch_;
  guests_.assign(guests_.size(), false);
  own_note_.samples = report_.own.samples;
  own_note_.compute_ns = static_cast<std::uint64_t>(report_.compute.count());
  own_note_.step_ns = static_cast<std::uint64_t>((node_.env.now() - begun_).count());
  return report_;
}

}  // namespace shoal
