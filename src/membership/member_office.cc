#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "membership/member.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPause = 20ms;  // between two fruitless attempts

}  // namespace

// The coordinator to talk to, or nothing if the store must be read again.
Task<std::optional<Lead>> JobMember::find() {
  if (store_ == nullptr) co_return co_await find_fixed();
  const std::optional<Entry> entry = co_await store_->get(keys_.coordinator);
  std::optional<Lead> found;
  if (!entry) {
    co_await run_for(0, std::nullopt, Predecessor());
    co_return found;
  }
  Lead lead = parse_lead(keys_.coordinator, entry->value);
  if (lead.id != trouble_.id) {
    trouble_ = Trouble();
    trouble_.id = lead.id;
    trouble_.seen = env_->now();
  }
  const bool ours = lead.who.instance == options_.process.instance;
  const bool ended = ours && (coordinator_ == nullptr || coordinator_->lead().id != lead.id);
  if (may_depose() || ended) {
    co_await stand(*entry, lead);
    co_return found;
  }
  if (trouble_.silent) co_await env_->sleep(kPause);
  found = std::move(lead);
  co_return found;
}

// Without a store the state of the job is only in the coordinator's process.
Task<std::optional<Lead>> JobMember::find_fixed() {
  const Time now = env_->now();
  Lead lead;
  lead.address = options_.coordinator;
  lead.id = "fixed";
  if (trouble_.id.empty()) {
    trouble_.id = lead.id;
    trouble_.since = now;
  }
  const bool trouble = trouble_.gone || trouble_.silent || trouble_.broken;
  if (trouble && leaving_) {  // the coordinator has gone before we could say goodbye
    left_ = true;
    changed_.notify_all();
    std::optional<Lead> nobody;
    co_return nobody;
  }
  if (!trouble) {
    trouble_.since = now;
  } else if (ever_talked_) {
    // A coordinator that is only out of reach may come back, and will fence us then.
    if (trouble_.dead || now - trouble_.since > options_.find_limit)
      throw LinkLost(
          fmt::format("lost the coordinator at {} ({}). Its process held the state of job {}, so "
                      "the job cannot go on; a job whose state is in an etcd store survives this",
                      lead.address, trouble_.why, options_.job.job));
  } else if (now - trouble_.since > options_.find_limit) {
    throw ConfigError(fmt::format(
        "no coordinator of job {} answers at {} for {:.0f} s ({}). Is the address right, and is "
        "the process there running?",
        options_.job.job, lead.address, seconds(options_.find_limit), trouble_.why));
  }
  if (trouble) co_await env_->sleep(kPause);
  trouble_.gone = false;
  co_return lead;
}

// A process that refuses connections is gone. A process that never answered may be new in office
// and about to publish its first view, perhaps without us: it gets time for that.
bool JobMember::may_depose() const {
  if (trouble_.gone || (trouble_.silent && trouble_.talked)) return true;
  return trouble_.silent && env_->now() - trouble_.seen > options_.job.view.suspect_after * 5 / 2;
}

// The coordinator that the store names cannot be reached: take its place, if this node may.
Task<void> JobMember::stand(const Entry& office, const Lead& lead) {
  const std::optional<Entry> entry = co_await store_->get(keys_.view);
  ViewRecord record;
  if (entry) record = parse_view_record(keys_.view, entry->value);
  const View view = record.roster.view();
  const bool in = life_ != nullptr && view.has(options_.node, life_->incarnation());
  if (in || view.members.empty()) {
    say(fmt::format("node {} stands for coordinator of job {}: {} at {} is lost ({})",
                    options_.node, options_.job.job, describe(lead.who), lead.address,
                    trouble_.why));
    Predecessor before;
    before.instance = lead.who.instance;
    before.died = trouble_.dead;
    if (trouble_.silent && trouble_.talked) before.silence = env_->now() - trouble_.heard;
    const Revision seen = entry ? entry->modified : 0;
    co_await run_for(office.modified, seen, before);
    co_return;
  }
  if (life_ != nullptr && view.generation > life_->now().generation)
    fence(fmt::format("node {}.{} is no longer in view {} ({})", options_.node,
                      life_->incarnation(), view.generation, record.roster.reason));
  // Members will take over, or the lease ends, or the coordinator answers again.
  trouble_.gone = trouble_.dead = trouble_.silent = false;
  co_await env_->sleep(kPause);
}

Task<void> JobMember::run_for(Revision over, std::optional<Revision> view, Predecessor before) {
  // An earlier term of this process is over, or should be: not even this process can reach it.
  if (coordinator_ != nullptr) coordinator_->resign();
  while (coordinator_ != nullptr) co_await changed_.wait();
  Lead lead;
  lead.address = net_->address();
  lead.who = options_.process;
  lead.id = fmt::format("{:016x}-{}", options_.process.instance, ++terms_);
  electing_ = true;
  std::optional<Office> office;
  std::exception_ptr error;
  try {
    office =
        co_await run_for_office(*store_, keys_, std::move(lead), options_.job.lease, over, view);
  } catch (...) {
    error = std::current_exception();
  }
  electing_ = false;
  if (office) {
    office->before = before;
    coordinator_ =
        std::make_unique<JobCoordinator>(*env_, *store_, options_.job, std::move(*office), true);
    group_->spawn(serve_term());
  }
  changed_.notify_all();
  if (error) std::rethrow_exception(error);
}

Task<void> JobMember::serve_term() {
  co_await coordinator_->run();
  coordinator_.reset();
  changed_.notify_all();
}

Task<void> JobMember::accept_links() {
  while (true) {
    std::unique_ptr<ControlLink> link = co_await net_->accept();
    group_->spawn(hand_over(std::move(link)));
  }
}

// Others may know that we won before the store's answer has reached us.
Task<void> JobMember::hand_over(std::unique_ptr<ControlLink> link) {
  while (electing_) co_await changed_.wait();
  if (coordinator_ != nullptr) {
    coordinator_->welcome(std::move(link));
    co_return;
  }
  Refused refusal;
  refusal.kind = Refusal::NotCoordinator;
  refusal.why =
      fmt::format("{} does not coordinate job {}", describe(options_.process), options_.job.job);
  link->send(encode(std::move(refusal)));
}

// A new coordinator is contacted at once, not when the old one has become silent.
Task<void> JobMember::watch_office() {
  const std::unique_ptr<Watch> watch = store_->watch(keys_.coordinator);
  while (true) {
    const Change change = co_await watch->next();
    if (change.key != keys_.coordinator || talking_to_.empty()) continue;
    const std::optional<Entry> entry = co_await store_->get(keys_.coordinator);
    if (talking_to_.empty()) continue;
    if (entry && parse_lead(keys_.coordinator, entry->value).id == talking_to_) continue;
    moved_ = true;
    changed_.notify_all();
  }
}

namespace {

Task<void> until_left(const bool& left, Signal& changed) {
  while (!left) co_await changed.wait();
}

Task<void> until_alone(const std::unique_ptr<JobCoordinator>& coordinator, std::uint64_t instance,
                       Env& env) {
  while (coordinator != nullptr && !coordinator->alone(instance)) co_await env.sleep(kPause);
}

Task<void> until_none(const std::unique_ptr<JobCoordinator>& coordinator, Signal& changed) {
  while (coordinator != nullptr) co_await changed.wait();
}

}  // namespace

// Ends run() once the node has left, even if the goodbye was not delivered.
Task<void> JobMember::depart() {
  while (!leaving_) co_await changed_.wait();
  co_await timeout(*env_, options_.leave_limit, until_left(left_, changed_));
  left_ = true;
  changed_.notify_all();
  // At the end of a job all nodes leave at about the same time, which is not worth a takeover each.
  co_await timeout(*env_, options_.leave_limit,
                   until_alone(coordinator_, options_.process.instance, *env_));
  if (coordinator_ != nullptr) coordinator_->resign();
  co_await timeout(*env_, options_.leave_limit, until_none(coordinator_, changed_));
  group_->cancel();
}

}  // namespace shoal
