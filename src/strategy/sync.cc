#include "strategy/sync.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "collective/dissemination.h"
#include "collective/group.h"
#include "collective/ring.h"
#include "runtime/task_group.h"
#include "strategy/recovery.h"

namespace shoal {
namespace {

constexpr GroupId kGroup{1};

// Numbers of the collective operations of one view: those of a step are step x 4096 + bucket.
constexpr std::uint64_t kBucketsMax = 4096;
constexpr std::uint64_t kRecovery = std::uint64_t{1} << 47U;
constexpr std::uint64_t kStandings = kRecovery;
constexpr std::uint64_t kTransfer = kRecovery + 1;
constexpr std::uint64_t kBarrier = kRecovery + 2;

class Worker {
 public:
  Worker(Node& node, Learner& learner, Keeper& keeper, Replica& replica, const SyncOptions& options)
      : node_(node), learner_(learner), keeper_(keeper), replica_(replica), options_(options) {}

  // Trains until the last step is done everywhere, through all views.
  Task<void> run();

 private:
  // All members of the view take part, from its first exchange to the end. True: the job is done;
  // false: the view changed.
  Task<bool> in_view(ViewPtr view);
  Task<void> level_up(const Group& group);
  Task<void> give(const Group& group, NodeId to, Need need);
  Task<void> take(const Group& group, NodeId from, Need need);
  Task<void> reduce(const Group& group, std::vector<SampleId> samples);
  Task<void> apply();
  Task<void> barrier(const Group& group);

  std::vector<Share> deal(const View& view);
  std::uint64_t hash(Range range) const {
    return options_.audit ? hash_of(std::span<const float>(range.data())) : 0;
  }
  void note(EventKind kind, Generation generation, std::uint64_t a, std::uint64_t b,
            std::uint64_t c);

  Node& node_;
  Learner& learner_;
  Keeper& keeper_;
  Replica& replica_;
  const SyncOptions& options_;
  Need behind_ = Need::Nothing;  // what was taken in level_up and has to be applied
  // Buffers of exchanges live here: a cancelled one may be busy until its generation is retired.
  std::vector<std::byte> blocks_, room_;
  Progress progress_;
  Generation reduced_in_;
};

Task<void> Worker::run() {
  Generation last{0};
  while (true) {
    ViewPtr view = co_await node_.membership.after(last);
    // No range may be used again before the network has let go of it. Views may have been skipped:
    // what others sent here in those must be dropped too, or they would wait for us for ever.
    co_await node_.endpoint.retire(kGroup, view->generation.previous());
    last = view->generation;
    if (node_.membership.now().generation > last) continue;  // It has changed again meanwhile.
    replica_.ledger.revoke_all();
    bool done = false;
    std::optional<PeerLost> lost;
    std::optional<Fenced> fenced;
    try {
      done = co_await in_view(view);
    } catch (const PeerLost& error) {
      lost = error;
    } catch (const Fenced& error) {
      fenced = error;
    }
    if (done || fenced) co_await node_.endpoint.retire(kGroup, last);
    if (fenced) throw *fenced;
    if (done) break;
    if (lost) {
      node_.env.probe("sync: a peer was lost inside a view");
      node_.membership.suspect(lost->peer(), lost->what());
    }
  }
  note(EventKind::WorkerDone, replica_.lineage, replica_.step.value(), hash(replica_.w.all()), 0);
}

Task<bool> Worker::in_view(ViewPtr view) {
  const Group group(node_, kGroup, view);
  const Generation generation = view->generation;

  auto levelled = co_await race(level_up(group), node_.membership.after(generation));
  if (levelled.index() == 1) co_return false;
  if (behind_ == Need::Reduced) {
    node_.env.probe("sync: a reduced step was copied from a peer");
    deal(*view);
    co_await apply();
  }
  note(EventKind::StateAgreed, generation, replica_.step.value(), hash(replica_.w.all()),
       replica_.lineage.value());

  while (replica_.step < options_.steps) {
    const std::vector<Share> shares = deal(*view);
    const Share own = shares[group.rank.value()];
    note(EventKind::ShareAdded, generation, replica_.step.value(), own.at, own.n);
    auto reduced = co_await race(reduce(group, replica_.ledger.samples(own)),
                                 node_.membership.after(generation));
    if (reduced.index() == 1) {
      node_.env.probe("sync: a step was dropped for a new view");
      co_return false;
    }
    replica_.reduced_in[replica_.step.value() % 2] = generation;
    co_await apply();

    const bool save =
        options_.save_every > Step(0) && replica_.step.value() % options_.save_every.value() == 0;
    if (save && group.rank == Rank(0)) co_await keeper_.save(replica_);
  }
  // The result is safe before the first worker leaves: whoever comes later finds it.
  if (group.rank == Rank(0)) co_await keeper_.save(replica_);
  auto met = co_await race(barrier(group), node_.membership.after(generation));
  co_return met.index() == 0;
}

// The whole global batch of the next step, dealt to the members in rank order.
std::vector<Share> Worker::deal(const View& view) {
  std::vector<Share> shares;
  std::uint64_t left = std::min(options_.batch, replica_.ledger.left());
  for (std::uint64_t r = 0; r < view.size(); ++r) {
    const Member& member = view.members[r];
    const std::uint64_t want = left / (view.size() - r);
    shares.push_back(replica_.ledger.deal(member.node, member.incarnation, want));
    left -= want;
  }
  return shares;
}

Task<void> Worker::reduce(const Group& group, std::vector<SampleId> samples) {
  const Range g = replica_.gradient_of(replica_.step);
  const std::uint64_t operation = replica_.step.value() * kBucketsMax;
  Channel<Ready> ready;
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    tasks.spawn(learner_.gradient(node_.env, replica_.w.all(), g, std::move(samples), ready));
    while (auto bucket = co_await ready.next()) {
      const Range data = g.slice(bucket->at, bucket->n);
      const Range scratch =
          replica_.scratch.all().slice(bucket->at, ring_scratch(bucket->n, group.size()));
      tasks.spawn(ring_all_reduce(group, data, scratch, operation + bucket->bucket));
    }
  });
}

// REQUIRES: the gradient of the step is reduced, and its samples are dealt.
Task<void> Worker::apply() {
  const Step t = replica_.step;
  const Range g = replica_.gradient_of(t);
  const Generation generation = replica_.reduced_in[t.value() % 2];
  const std::uint64_t batch = replica_.ledger.settle_leases(SampleEnd::Applied);
  note(EventKind::StepReduced, generation, t.value(), hash(g), 0);
  co_await update(node_.env, options_.rule, replica_.w.all(), g, batch);
  ++replica_.step;
  note(EventKind::StepApplied, generation, t.value(), hash(replica_.w.all()),
       replica_.ledger.place().at);
}

Task<void> Worker::level_up(const Group& group) {
  const std::uint64_t P = group.size();
  const Standing own{replica_.step.value(), replica_.lineage.value(), replica_.valid ? 1U : 0U};
  blocks_.assign(P * sizeof(Standing), std::byte{0});
  room_.assign(P * sizeof(Standing), std::byte{0});
  std::memcpy(blocks_.data() + group.rank.value() * sizeof(Standing), &own, sizeof own);
  co_await all_gather(group, blocks_, room_, kStandings);
  std::vector<Standing> standings(P);
  std::memcpy(standings.data(), blocks_.data(), blocks_.size());

  const RecoveryPlan plan = plan_recovery(standings);
  behind_ = need_of(standings, plan, group.rank);
  if (group.rank != plan.source) {
    if (behind_ != Need::Nothing) co_await take(group, group.view->at(plan.source), behind_);
    co_return;
  }
  if (plan.from_keeper) {
    const bool loaded = co_await keeper_.load(replica_);
    if (!loaded) {
      learner_.initialize(replica_.w.all());
      replica_.restore(Progress{});
    } else {
      node_.env.probe("sync: the state was loaded from a checkpoint");
    }
    replica_.lineage = group.view->generation;
    note(EventKind::CheckpointRead, group.view->generation, replica_.step.value(),
         hash(replica_.w.all()), loaded ? 1 : 0);
  }
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t r = 0; r < P; ++r) {
      const Need need = need_of(standings, plan, Rank(r));
      if (need != Need::Nothing) tasks.spawn(give(group, group.view->at(Rank(r)), need));
    }
    co_return;
  });
}

Task<void> Worker::give(const Group& group, NodeId to, Need need) {
  Endpoint& endpoint = node_.endpoint;
  if (need == Need::Reduced) {
    const Step t = replica_.step - Step(1);
    reduced_in_ = replica_.reduced_in[t.value() % 2];
    co_await endpoint.send(to, group.tag(kTransfer, 0), const_buf(reduced_in_));
    co_await endpoint.send(to, group.tag(kTransfer, 1), replica_.gradient_of(t).bytes());
    co_return;
  }
  progress_ = replica_.progress();
  co_await endpoint.send(to, group.tag(kTransfer, 0), const_buf(progress_));
  co_await endpoint.send(to, group.tag(kTransfer, 1), replica_.w.all().bytes());
}

Task<void> Worker::take(const Group& group, NodeId from, Need need) {
  Endpoint& endpoint = node_.endpoint;
  const Match first{.from = from, .tag = group.tag(kTransfer, 0)};
  const Match second{.from = from, .tag = group.tag(kTransfer, 1)};
  if (need == Need::Reduced) {
    co_await endpoint.recv(first, mut_buf(reduced_in_));
    co_await endpoint.recv(second, replica_.gradient_of(replica_.step).bytes());
    replica_.reduced_in[replica_.step.value() % 2] = reduced_in_;
    co_return;
  }
  replica_.valid = false;  // until all of it is here
  co_await endpoint.recv(first, mut_buf(progress_));
  co_await endpoint.recv(second, replica_.w.all().bytes());
  replica_.restore(progress_);
}

Task<void> Worker::barrier(const Group& group) {
  blocks_.assign(group.size(), std::byte{1});
  room_.assign(group.size(), std::byte{0});
  co_await all_gather(group, blocks_, room_, kBarrier);
}

void Worker::note(EventKind kind, Generation generation, std::uint64_t a, std::uint64_t b,
                  std::uint64_t c) {
  Event event;
  event.kind = kind;
  event.generation = generation;
  event.group = kGroup;
  event.a = a;
  event.b = b;
  event.c = c;
  node_.env.record(event);
}

}  // namespace

Task<void> sync_worker(Node& node, Learner& learner, Keeper& keeper, Replica& replica,
                       SyncOptions options) {
  Worker worker(node, learner, keeper, replica, options);
  co_await worker.run();
}

}  // namespace shoal
