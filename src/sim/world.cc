#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"

namespace shoal {

using namespace std::chrono_literals;

// A function call at a point of virtual time, for the world or for one incarnation of a node.
class World::Call final : public Occurrence {
 public:
  explicit Call(std::function<void()> what) : what_(std::move(what)) {}
  void happen() override {
    const std::unique_ptr<Call> self(this);
    what_();
  }
  void discard() override { delete this; }

 private:
  std::function<void()> what_;
};

// A link begins or ceases to take some of a host's cores.
class World::Load final : public Occurrence {
 public:
  void happen() override {
    World& w = *world;
    w.cpus_[host.value()].add_load(cores);
    w.loads_.give_back(*this);
  }
  void discard() override { world->loads_.give_back(*this); }
  World* world = nullptr;
  HostId host;
  double cores = 0;
};

World::Life::Life(World& world, NodeId id, Incarnation incarnation)
    : env(world, id, incarnation),
      endpoint(world, id, incarnation),
      membership(world, id, incarnation),
      files(world.disk_, env, id),
      node{id, incarnation, env, endpoint, membership, files},
      tasks(Context{&world.executor_, nullptr}) {}

World::World(Cluster cluster, WorldOptions options)
    : cluster_(std::move(cluster)),
      options_(std::move(options)),
      network_(cluster_, options_.seed, queue_),
      coordinator_(*this, options_.seed,
                   [&] {
                     CoordinatorOptions o = options_.coordinator;
                     o.expected = cluster_.nodes.size();
                     return o;
                   }()),
      disk_(options_.seed),
      random_(options_.seed, Purpose::Cluster, 1),
      slots_(cluster_.nodes.size()) {
  for (const HostModel& host : cluster_.hosts)
    cpus_.emplace_back(*this, host.cores, 1 / host.speed);
  network_.on_busy([this](HostId host, double cores, Time from, Time to) {
    load(host, cores, from);
    load(host, -cores, to);
  });
  for (const Placement& p : cluster_.nodes) lines_.emplace_back(p.role == Role::Server);
}

World::~World() {
  // Running programs are cancelled, not destroyed from outside.
  for (Slot& s : slots_)
    if (s.life) s.life->tasks.cancel();
  executor_.run_ready(moment_most());
  SHOAL_CHECK(executor_.idle(), "a program spins and ignores its cancellation");
  for (Slot& s : slots_) {
    for (Occurrence* o : s.waiting) o->discard();
    s.life.reset();
  }
}

// ---- Running

Outcome World::run(NodeProgram program) {
  program_ = std::move(program);
  const auto everyone = static_cast<std::uint32_t>(slots_.size());
  for (std::uint32_t node = 0; node < everyone; ++node) start(NodeId(node));
  if (options_.fixed_view) {
    fix_view(Ending::No);
  } else {
    coordinator_.start();
  }
  for (const Fault& fault : options_.faults.faults) at(fault.at, [this, fault] { apply(fault); });
  if (options_.faults.heal_at > Time{}) at(options_.faults.heal_at, [this] { heal_everything(); });

  const Time limit = Time(options_.time_limit);
  const std::uint64_t most = moment_most();
  std::uint64_t moment = 0;  // events since time last passed
  while (true) {
    const std::uint64_t resumed = executor_.run_ready(most - moment);
    resumptions_ += resumed;
    moment += resumed;
    if (moment >= most) break;
    bury();
    if (!executor_.idle()) continue;
    if (!unfinished() || queue_.empty() || queue_.now() > limit) break;
    const Time before = queue_.now();
    Occurrence& next = queue_.pop();
    moment = queue_.now() > before ? 0 : moment + 1;
    dispatch(next);
  }

  Outcome outcome;
  outcome.finished = !unfinished();
  outcome.end = queue_.now();
  outcome.messages = messages_;
  outcome.occurrences = queue_.processed();
  outcome.resumptions = resumptions_;
  outcome.errors = errors_;
  outcome.fired = fired_;
  outcome.probes = probes_;
  if (!outcome.finished) outcome.waiting_for = who_waits();
  if (moment >= most)
    outcome.waiting_for +=
        fmt::format("time stands still: {} events happened at this moment\n", moment);
  if (recording()) {
    options_.recorder->mix(static_cast<std::uint64_t>(outcome.end.time_since_epoch().count()));
    options_.recorder->mix(outcome.messages);
    outcome.hash = options_.recorder->hash();
  }
  return outcome;
}

void World::dispatch(Occurrence& o) {
  if (o.called_off) return o.discard();
  if (o.target != kNobody) {
    Slot& s = slot(o.target);
    if (s.state != State::Up || s.incarnation != o.life) return o.discard();
    if (s.frozen) return s.waiting.push_back(&o);
  }
  o.happen();
}

void World::at(Time when, std::function<void()> what) {
  queue_.schedule(std::max(when, now()), *new Call(std::move(what)));
}

void World::at_node(NodeId node, Time when, std::function<void()> what) {
  auto* call = new Call(std::move(what));
  call->target = node;
  call->life = slot(node).incarnation;
  queue_.schedule(std::max(when, now()), *call);
}

// The limit of events at one moment. A program that asks forever and gets its answer at once would
// never reach the limit of time.
std::uint64_t World::moment_most() const { return 5'000'000 + 100'000 * slots_.size(); }

bool World::unfinished() const {
  if (up_ > 0 || restarts_ > 0) return true;
  const bool heals = options_.faults.heal_at > Time{} && !healed_;
  return heals && done_ < slots_.size();
}

void World::start(NodeId node) {
  Slot& s = slot(node);
  SHOAL_CHECK(s.life == nullptr);
  s.incarnation = s.incarnation.next();
  s.state = State::Up;
  ++up_;
  s.frozen = false;
  s.was_member = false;
  s.restart_again = false;
  s.started = now();
  s.life = std::make_unique<Life>(*this, node, s.incarnation);
  Event event;
  event.kind = EventKind::NodeStarted;
  s.life->env.record(event);
  s.life->tasks.spawn(live(node));
  if (!options_.fixed_view) report([this, m = member(node)] { coordinator_.join(m); });
}

Task<void> World::live(NodeId node) {
  Life& life = *slot(node).life;
  State state = State::Done;
  try {
    co_await program_(life.node);
  } catch (const Cancelled&) {
    // It was killed; or the program let a cancellation of its own escape, which is its error.
    if (slot(node).state == State::Up)
      errors_.push_back({node, life.node.incarnation, "Cancelled escaped the node program"});
    state = State::Down;
  } catch (const Fenced&) {
    slot(node).restart_again = slot(node).state == State::Up;
    state = State::Down;
  } catch (const std::exception& error) {
    errors_.push_back({node, life.node.incarnation, error.what()});
    state = State::Down;
  }
  if (slot(node).state != State::Up) co_return;
  // A program must release its ranges before it ends, because the transport writes to them
  // otherwise.
  if (life.endpoint.has_busy_ranges()) {
    Event event;
    event.kind = EventKind::RangeReused;
    life.env.record(event);
  }
  if (state == State::Done) life.membership.leave();
  ended(node, state);
}

void World::ended(NodeId node, State state) {
  Slot& s = slot(node);
  if (state == State::Done) ++done_;
  s.state = state == State::Done ? State::Done : State::Ending;
  ending_.push_back(node);
}

// Frees the nodes that have ended, once none of their tasks runs.
void World::bury() {
  for (const NodeId node : std::exchange(ending_, {})) {
    Slot& s = slot(node);
    SHOAL_CHECK_EQ(s.life->tasks.running(), 0U, "node {} still runs", node);
    for (Occurrence* o : std::exchange(s.waiting, {})) o->discard();
    s.life.reset();
    --up_;
    if (s.state == State::Ending) s.state = State::Down;
    if (s.restart_again) restart_at(node, now() + 10ms);
  }
}

// ---- Membership

Member World::member(NodeId node) const {
  const Placement& p = cluster_.nodes[node.value()];
  return {node, p.role, node.value(), p.host, slots_[node.value()].incarnation};
}

bool World::cut_off(NodeId node) const { return std::ranges::count(cut_off_, node) > 0; }

bool World::hears(NodeId node, Incarnation life) const {
  const Slot& s = slots_[node.value()];
  return s.state == State::Up && s.incarnation == life && !s.frozen && !cut_off(node);
}

void World::each_applicant(const std::function<void(const Member&)>& visit) {
  for (std::uint32_t node = 0; node < slots_.size(); ++node) {
    const Slot& s = slots_[node];
    if (hears(NodeId(node), s.incarnation) && !s.was_member) visit(member(NodeId(node)));
  }
}

void World::report(std::function<void()> what) {
  at(now() + random_.duration(50us, 2ms), std::move(what));
}

// Without monitoring all nodes learn of it at once, so that none can leave in between; if one has
// left, the job is at its end already.
void World::end_job(Ending how, const std::string& why) {
  if (!options_.fixed_view) return coordinator_.end_job(how, why);
  if (up_ == slots_.size() && !std::exchange(fixed_end_, true)) fix_view(how);
}

void World::fix_view(Ending ending) {
  auto view = std::make_shared<View>();
  view->generation = Generation(ending == Ending::No ? 1 : 2);
  view->ending = ending;
  const auto everyone = static_cast<std::uint32_t>(slots_.size());
  for (std::uint32_t node = 0; node < everyone; ++node)
    view->members.push_back(member(NodeId(node)));
  for (std::uint32_t node = 0; node < everyone; ++node)
    view_arrives(NodeId(node), Incarnation(1), view);
}

void World::announce(NodeId node, const ViewPtr& view, Duration delay) {
  Slot& s = slot(node);
  if (s.state != State::Up) return;
  if (view->has(node, s.incarnation)) s.was_member = true;
  at_node(node, now() + delay, [this, node, life = s.incarnation, view] {
    // A disconnected node learns of it when it is back; there may be a newer view by then.
    if (!hears(node, life)) return announce(node, view, 20ms);
    view_arrives(node, life, view);
  });
}

void World::view_arrives(NodeId node, Incarnation life, const ViewPtr& view) {
  Life& l = *slot(node).life;
  if (view->generation <= l.membership.now().generation) return;
  if (!view->has(node, life)) {
    if (slot(node).was_member) fence(node, "evicted: " + describe(*view));
    return;
  }
  if (std::exchange(newest_, view) != view) view_seen_ = view_event(*view);
  l.env.record(view_seen_);
  l.endpoint.adopt(view);
  l.membership.view_arrived(view);
}

void World::fence(NodeId node, const std::string& why) {
  Life& l = *slot(node).life;
  Event event;
  event.kind = EventKind::FencedOut;
  l.env.record(event);
  l.endpoint.fence(why);
  l.membership.fence(why);
}

void World::load(HostId host, double cores, Time when) {
  Load& load = loads_.take();
  load.world = this;
  load.host = host;
  load.cores = cores;
  queue_.schedule(when, load);
}

// ---- Queries of the parts

void World::record(Event&& event) {
  if (!recording()) return;
  // Events of a dead node do not count: what a killed node does while it unwinds never happened.
  if (event.node != kNobody) {
    const Slot& s = slots_[event.node.value()];
    if (event.incarnation != s.incarnation || s.state != State::Up) return;
  }
  event.at = now();
  options_.recorder->record(event);
}

bool World::buggify(const char* site) {
  if (!cluster_.buggify || healed_) return false;
  const std::span name(site, std::string_view(site).size());
  const auto [it, fresh] = buggify_.try_emplace(
      site, Random(options_.seed, Purpose::Buggify, hash_of(std::as_bytes(name))));
  Random& random = it->second;
  // A site is active for a quarter of the seeds, and then fires a quarter of the time.
  const bool active =
      Random(options_.seed, Purpose::Buggify, 1, hash_of(std::as_bytes(name))).chance(0.25);
  return active && random.chance(0.25);
}

bool World::completes_at_once() {
  switch (cluster_.completion) {
    case Completion::AtOnce: return true;
    case Completion::WhenMatched: return false;
    case Completion::BySeed: return random_.chance(0.5);
  }
  return true;
}

Duration World::draw_busy() {
  if (cluster_.completion != Completion::BySeed || cluster_.cancelled_busy_max <= Duration(0))
    return Duration(0);
  if (!random_.chance(0.15)) return Duration(0);
  return from_seconds(seconds(cluster_.cancelled_busy_max) * random_.uniform());
}

std::string World::who_waits() {
  std::string text;
  std::map<Generation, const View*> views;  // told once each, because they name all nodes
  for (std::uint32_t node = 0; node < slots_.size(); ++node) {
    Slot& s = slots_[node];
    static constexpr auto kStates = names<State>({{State::Down, "down"},
                                                  {State::Up, "up"},
                                                  {State::Ending, "ending"},
                                                  {State::Done, "done"}});
    text += fmt::format("node {}.{} {}{}", node, s.incarnation, kStates.of(s.state),
                        s.frozen ? " frozen" : "");
    if (s.life) {
      const View& view = s.life->membership.now();
      views.try_emplace(view.generation, &view);
      text += fmt::format(", view {}", view.generation);
      for (const std::string& line : s.life->endpoint.waiting("it")) text += "; " + line;
    }
    text += '\n';
  }
  for (const auto& [generation, view] : views) text += describe(*view) + '\n';
  return text + "coordinator: " + coordinator_.last_reason() + '\n';
}

}  // namespace shoal
