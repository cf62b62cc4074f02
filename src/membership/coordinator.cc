#include "membership/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace shoal {

JobCoordinator::JobCoordinator(Env& env, Store& store, JobOptions options, Office office,
                               bool contested)
    : env_(&env),
      store_(&store),
      options_(std::move(options)),
      office_(std::move(office)),
      contested_(contested),
      keys_(options_.prefix) {}

JobCoordinator::~JobCoordinator() {
  SHOAL_CHECK(group_ == nullptr, "a coordinator was destroyed in its term");
}

Task<TermEnd> JobCoordinator::run() {
  started_ = last_look_ = env_->now();
  // Not logged if no other process can coordinate.
  if (contested_)
    say(fmt::format("{} coordinates job {} at {}", describe(office_.lead.who), options_.job,
                    office_.lead.address));
  co_await load();
  const Context context = co_await current();
  TaskGroup group(context);
  group_ = &group;
  for (std::unique_ptr<ControlLink>& link : std::exchange(early_, {})) welcome(std::move(link));
  group.spawn(decide());
  group.spawn(beat());
  group.spawn(keep_lease());
  group.spawn(watch_office());
  if (end_) group.cancel();  // asked to resign before it began
  std::exception_ptr error;
  try {
    co_await group.join();
  } catch (...) {
    error = std::current_exception();
  }
  group_ = nullptr;
  lives_.clear();
  sessions_.clear();
  if (error) std::rethrow_exception(error);
  SHOAL_CHECK(end_.has_value());
  if (contested_)
    say(fmt::format("{} no longer coordinates: {}", describe(office_.lead.who), why_ended_));
  if (*end_ == TermEnd::Resigned) {
    Transaction give_up;
    give_up.when.push_back({.key = keys_.coordinator, .modified = office_.revision});
    give_up.then.push_back({.key = keys_.coordinator, .value = {}});
    co_await store_->commit(std::move(give_up));
  }
  if (*end_ != TermEnd::Deposed) co_await store_->revoke(office_.lease);
  co_return *end_;
}

Task<void> JobCoordinator::load() {
  const std::optional<Entry> entry = co_await store_->get(keys_.view);
  if (!entry) co_return;
  record_ = parse_view_record(keys_.view, entry->value);
  view_ = record_.roster.view();
  // Members have the usual patience to reconnect. Until then they remain members.
  last_look_ = env_->now();
  for (const Admitted& row : record_.roster.rows) {
    Life life;
    life.row = row;
    life.heard = last_look_;
    if (row.process.instance == office_.before.instance) {
      life.lost = office_.before.died;
      life.why = "its process died, and coordinated";
      life.heard -= office_.before.silence;
    }
    lives_.push_back(std::move(life));
  }
}

void JobCoordinator::welcome(std::unique_ptr<ControlLink> link) {
  if (end_) return;  // closed again: the other side looks up the present coordinator
  if (group_ == nullptr) {
    early_.push_back(std::move(link));
    return;
  }
  const std::uint64_t id = ++last_session_;
  auto session = std::make_unique<Session>(id, std::move(link), env_->now());
  group_->spawn(attend(*session));
  sessions_.emplace(id, std::move(session));
}

void JobCoordinator::resign() { finish(TermEnd::Resigned, "it resigned"); }

bool JobCoordinator::alone(std::uint64_t instance) const {
  return std::ranges::all_of(
      lives_, [&](const Life& life) { return life.left || life.row.process.instance == instance; });
}

void JobCoordinator::finish(TermEnd end, std::string why) {
  if (end_) return;
  end_ = end;
  why_ended_ = std::move(why);
  if (group_ != nullptr) group_->cancel();
}

void JobCoordinator::say(const std::string& line) const {
  if (options_.log) options_.log(line);
}

void JobCoordinator::wake() {
  dirty_ = true;
  changed_.notify_all();
}

// Every task calls this when it wakes, and one of them wakes at every heartbeat. If none did for
// long, this process was stopped or starved, and the others' silence does not count.
Time JobCoordinator::look() {
  const Time now = env_->now();
  const Duration absence = now - last_look_;
  last_look_ = now;
  if (absence <= options_.heartbeat * 3) return now;
  for (const auto& [id, session] : sessions_) session->gaps.forgive(absence);
  for (Life& life : lives_) life.heard += absence;
  return now;
}

Time JobCoordinator::heard(const Life& life) const {
  return life.session != nullptr ? life.session->gaps.last() : life.heard;
}

Duration JobCoordinator::patience(const Life& life) const {
  const Duration floor = options_.view.suspect_after;
  return life.session != nullptr ? life.session->gaps.patience(floor) : floor;
}

CoordinatorState JobCoordinator::state() {
  const Time now = look();
  CoordinatorState state;
  state.view = view_;
  state.started = started_;
  state.end = job_end_;
  state.why_end = why_end_;
  std::size_t silent = 0;
  for (const Life& life : lives_) {
    Candidate c;
    c.member = life.row.member;
    c.last_heard = heard(life);
    c.patience = patience(life);
    c.connection_lost = life.lost;
    c.left = life.left;
    c.suspected_by = life.suspected_by;
    c.why = life.why;
    if (!life.out() && in_view(life) && now - c.last_heard > c.patience) ++silent;
    state.candidates.push_back(std::move(c));
  }
  // If most members are silent, it is probably this process that is cut off. The others will take
  // over; if this process decided first, all of them would be out.
  if (contested_ && silent * 2 > view_.size()) {
    for (Candidate& c : state.candidates) c.patience = c.patience * 5 / 2;
  }
  return state;
}

bool JobCoordinator::in_view(const Life& life) const {
  return view_.has(life.row.member.node, life.row.member.incarnation);
}

bool JobCoordinator::everyone_left() const {
  bool goodbye = false;
  for (const Life& life : lives_) {
    if (!life.out()) return false;
    goodbye |= life.left && in_view(life);
  }
  return goodbye;
}

Task<void> JobCoordinator::decide() {
  while (!end_) {
    dirty_ = false;
    const CoordinatorState now = state();
    ViewDecision decision = decide_view(env_->now(), now, options_.view);
    const std::string waits = decision.waits ? decision.reason : "";
    if (std::exchange(last_reason_, waits) != waits && decision.waits) say(waits);
    if (everyone_left()) {
      co_await close_job();
    } else if (decision.view) {
      co_await commit(std::move(*decision.view), std::move(decision.reason));
    } else {
      drop_outsiders(record_.roster);
      while (!dirty_) co_await changed_.wait();
    }
  }
}

Task<void> JobCoordinator::commit(View view, std::string reason) {
  ViewRecord next;
  next.highest = record_.highest;
  next.by = office_.lead.id;
  next.roster.generation = view.generation;
  next.roster.reason = std::move(reason);
  next.roster.ending = view.ending;
  for (const Member& member : view.members) {
    const Life* const life = find(member.node, member.incarnation);
    SHOAL_CHECK(life != nullptr, "node {}.{} was decided on, but is unknown", member.node,
                member.incarnation);
    next.roster.rows.push_back(life->row);
  }
  Transaction transaction;
  transaction.when.push_back({.key = keys_.coordinator, .modified = office_.revision});
  transaction.then.push_back({.key = keys_.view, .value = to_json(next)});
  const Committed committed = co_await store_->commit(std::move(transaction));
  if (!committed.succeeded) {
    finish(TermEnd::Deposed,
           fmt::format("view {} was refused by the store, because another process took over",
                       next.roster.generation));
    co_return;
  }
  say(fmt::format("{}: {}", describe(view), next.roster.reason));
  const Roster before = std::exchange(record_.roster, std::move(next.roster));
  record_.by = std::move(next.by);
  view_ = std::move(view);
  drop_outsiders(before);
  publish();
}

// Ends the incarnations that are not in the view: former members, and applicants that have gone.
// Applicants that came while the view was being committed stay.
void JobCoordinator::drop_outsiders(const Roster& before) {
  const View old = before.view();
  std::erase_if(lives_, [&](const Life& life) {
    const Member& member = life.row.member;
    if (in_view(life)) return false;
    const bool was_in = old.has(member.node, member.incarnation);
    if (!was_in && !life.out()) return false;
    if (was_in && !life.left) {
      const std::string why =
          fmt::format("node {}.{} was evicted by view {}: {}", member.node, member.incarnation,
                      view_.generation, record_.roster.reason);
      evicted_[member.node] = {member.incarnation, why};
      if (life.session != nullptr)
        life.session->link->send(encode(Evicted{member.node, member.incarnation, why}));
    } else if (life.left && life.session != nullptr) {
      life.session->link->send(encode(Farewell{member.node}));
    }
    return true;
  });
}

void JobCoordinator::publish() {
  const std::string message = encode(Published{record_.roster});
  for (const auto& [id, session] : sessions_) {
    const bool concerned = std::ranges::any_of(lives_, [&, s = session.get()](const Life& life) {
      return life.session == s && in_view(life);
    });
    if (concerned) session->link->send(message);
  }
}

Task<void> JobCoordinator::close_job() {
  ViewRecord last = record_;
  last.by = office_.lead.id;
  last.roster.generation = record_.roster.generation.next();
  last.roster.rows.clear();
  last.roster.ending = Ending::No;  // of this job; another one of the same name may follow
  last.roster.reason = "all have left";
  Transaction transaction;
  transaction.when.push_back({.key = keys_.coordinator, .modified = office_.revision});
  transaction.then.push_back({.key = keys_.view, .value = to_json(last)});
  transaction.then.push_back({.key = keys_.coordinator, .value = {}});
  const Committed committed = co_await store_->commit(std::move(transaction));
  if (!committed.succeeded) {
    finish(TermEnd::Deposed, "another process took over while the last members left");
    co_return;
  }
  for (const Life& life : lives_) {
    if (life.left && life.session != nullptr)
      life.session->link->send(encode(Farewell{life.row.member.node}));
  }
  finish(TermEnd::AllLeft, "all members have left");
}

Task<void> JobCoordinator::keep_lease() {
  while (true) {
    co_await env_->sleep(options_.lease / 3);
    const bool kept = co_await store_->renew(office_.lease);
    if (kept) continue;
    finish(TermEnd::Deposed, "its lease in the store ran out");
    co_return;
  }
}

Task<void> JobCoordinator::watch_office() {
  const std::unique_ptr<Watch> watch = store_->watch(keys_.coordinator);
  while (true) {
    const Change change = co_await watch->next();
    if (change.key != keys_.coordinator) continue;
    // Reads the store, because a watch may report changes from before this term.
    const std::optional<Entry> entry = co_await store_->get(keys_.coordinator);
    if (entry && entry->modified == office_.revision) continue;
    if (end_) co_return;  // this process gave the office up itself
    finish(TermEnd::Deposed, !entry ? std::string("its lease in the store ran out")
                                    : "another process took over: " + entry->value);
    co_return;
  }
}

namespace {

Task<void> accept_into(ControlNet& net, JobCoordinator& coordinator) {
  while (true) {
    std::unique_ptr<ControlLink> link = co_await net.accept();
    coordinator.welcome(std::move(link));
  }
}

}  // namespace

Task<TermEnd> coordinate(Env& env, ControlNet& net, Store& store, JobOptions options,
                         ProcessInfo who) {
  const JobKeys keys(options.prefix);
  Lead lead;
  lead.address = net.address();
  lead.id = fmt::format("{:016x}-0", who.instance);
  lead.who = std::move(who);
  std::optional<Office> office =
      co_await run_for_office(store, keys, std::move(lead), options.lease, 0, std::nullopt);
  if (!office) {
    const std::optional<Entry> entry = co_await store.get(keys.coordinator);
    throw ConfigError(
        fmt::format("job {} has a coordinator already: {}. Give this job another name", options.job,
                    entry ? entry->value : std::string("one that has just ended; try again")));
  }
  JobCoordinator coordinator(env, store, std::move(options), std::move(*office), false);
  const auto winner = co_await race(coordinator.run(), accept_into(net, coordinator));
  co_return std::get<0>(winner);
}

}  // namespace shoal
