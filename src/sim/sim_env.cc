#include "sim/sim_env.h"

#include <algorithm>
#include <cmath>

#include "sim/world.h"

namespace shoal {

SimEnv::SimEnv(World& world, NodeId node, Incarnation incarnation)
    : Env(world.seed()), world_(&world), node_(node), incarnation_(incarnation) {}

Time SimEnv::now() const { return world_->now(); }

void SimEnv::record(Event event) {
  event.node = node_;
  event.incarnation = incarnation_;
  world_->record(std::move(event));
}

void SimEnv::probe(const char* what) { world_->probe(what); }
bool SimEnv::buggify(const char* site) { return world_->buggify(site); }

SimEnv::Timer& SimEnv::timer() {
  Timer& timer = world_->timers().take();
  timer.world = world_;
  timer.target = node_;
  timer.life = incarnation_;
  timer.called_off = false;
  timer.sleep = nullptr;
  timer.work = nullptr;
  timer.line = nullptr;
  return timer;
}

void SimEnv::call_off(void*& timer) {
  if (timer == nullptr) return;
  Timer& t = *static_cast<Timer*>(std::exchange(timer, nullptr));
  if (t.line != nullptr) {
    world_->cpu(node_).revoke(t);
    return world_->timers().give_back(t);
  }
  t.called_off = true;
  world_->queue().note_called_off();
}

void SimEnv::Timer::happen() {
  SleepOp* const s = sleep;
  WorkOp* const w = work;
  world->timers().give_back(*this);
  if (s != nullptr) {
    s->timer = nullptr;
    s->fire();
  } else {
    w->timer = nullptr;
    w->done();
  }
}

void SimEnv::Timer::discard() { world->timers().give_back(*this); }

void SimEnv::start_sleep(SleepOp& op) {
  Timer& t = timer();
  t.sleep = &op;
  op.timer = &t;
  world_->queue().schedule(now() + std::max(op.duration(), Duration(0)), t);
}

void SimEnv::abort_sleep(SleepOp& op) { call_off(op.timer); }

double SimEnv::drawn(const Straggler& s) {
  Random random(seed(), Purpose::Straggler, node_.value(),
                std::uint64_t{incarnation_.value()} << 40U | works_++);
  if (s.kind == Straggler::Kind::Exponential) return s.factor * random.exponential();
  if (s.kind == Straggler::Kind::Jitter) return std::max(0.1, 1 + s.factor * random.normal());
  return std::min(random.pareto(s.factor), 1000.0);  // a tail, but a bounded one
}

// One draw serves a whole pass: a disturbance of a gradient lasts longer than a bucket.
double SimEnv::slowness(Work kind) {
  const std::vector<Straggler>& all = world_->cluster().stragglers;
  if (node_.value() >= all.size()) return 1;
  const Straggler& s = all[node_.value()];
  if (s.kind == Straggler::Kind::None) return 1;
  if (s.kind == Straggler::Kind::Constant) return s.factor;
  if (kind == Work::Backward && pass_ > 0) return pass_;
  const double slow = drawn(s);
  if (kind == Work::Forward) pass_ = slow;
  return slow;
}

void SimEnv::start_work(WorkOp& op) {
  // Timing-only skips the mathematics, but not files.
  if (!world_->cluster().timing_only || op.kind() == Work::Io) {
    try {
      op.run();
    } catch (...) {
      return op.failed_with(std::current_exception());
    }
  }
  const double per_element = world_->cluster().ns_per_element[static_cast<std::size_t>(op.kind())];
  const double ns = per_element * static_cast<double>(op.n().value());
  if (ns <= 0) return op.done();
  Timer& t = timer();
  t.work = &op;
  op.timer = &t;
  world_->cpu(node_).start(world_->lines(node_).line_of(op), t,
                           from_seconds(ns * slowness(op.kind()) * 1e-9));
}

bool SimEnv::abort_work(WorkOp& op) {
  call_off(op.timer);  // the function has run; only its time had to pass
  return true;
}

}  // namespace shoal
