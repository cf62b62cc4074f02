#include "membership/member.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace shoal {

using namespace std::chrono_literals;

void LiveMembership::suspect(NodeId peer, const std::string& why) {
  const Member* const accused = now().find(peer);
  if (accused == nullptr || member_->life_.get() != this) return;  // the view has changed
  member_->accuse(peer, accused->incarnation, why);
}

void LiveMembership::end_job(Ending how, const std::string& why) {
  if (member_->life_.get() == this) member_->end_job(how, why);
}

void LiveMembership::leave() {
  if (member_->life_.get() == this) member_->leave();
}

void LiveMembership::failed(const std::string& why) {
  if (member_->life_.get() != this) return;
  suspect(member_->options_.node, why);
  member_->fence(fmt::format("it failed: {}", why));
}

JobMember::JobMember(Env& env, ControlNet& net, Store* store, MemberOptions options)
    : env_(&env),
      net_(&net),
      store_(store),
      options_(std::move(options)),
      keys_(options_.job.prefix),
      gaps_(env.now()) {
  SHOAL_CHECK(store != nullptr || !options_.coordinator.empty(),
              "a member has neither a store nor the coordinator's address");
}

JobMember::~JobMember() {
  SHOAL_CHECK(group_ == nullptr, "a JobMember was destroyed while it ran");
}

void JobMember::say(const std::string& line) const {
  if (options_.job.log) options_.job.log(line);
}

Task<void> JobMember::run() {
  const Context context = co_await current();
  TaskGroup group(context);
  group_ = &group;
  last_look_ = env_->now();
  group.spawn(attend());
  group.spawn(depart());
  if (store_ != nullptr) {
    group.spawn(accept_links());
    group.spawn(watch_office());
  }
  std::exception_ptr error;
  try {
    co_await group.join();
  } catch (...) {
    error = std::current_exception();
  }
  group_ = nullptr;
  coordinator_.reset();
  if (error) std::rethrow_exception(error);
}

Task<std::shared_ptr<LiveMembership>> JobMember::join(std::string contact) {
  options_.contact = std::move(contact);
  return join();
}

Task<std::shared_ptr<LiveMembership>> JobMember::join() {
  SHOAL_CHECK(life_ == nullptr, "node {} joined while it lives", options_.node);
  wanted_ = true;
  if (link_ != nullptr) introduce(*link_);
  while (life_ == nullptr) co_await changed_.wait();
  co_return life_;
}

void JobMember::accuse(NodeId peer, Incarnation incarnation, const std::string& why) {
  Accusation accusation;
  accusation.node = peer;
  accusation.incarnation = incarnation;
  accusation.why = why;
  const bool known = std::ranges::any_of(accusations_, [&](const Accusation& a) {
    return a.node == peer && a.incarnation == incarnation;
  });
  if (known) return;
  accusations_.push_back(accusation);
  if (link_ != nullptr) link_->send(encode(Accuse{options_.node, std::move(accusation)}));
}

void JobMember::end_job(Ending how, const std::string& why) {
  end_ = EndJob{options_.node, how, why};
  if (link_ != nullptr) link_->send(encode(*end_));
}

void JobMember::leave() {
  leaving_ = true;
  if (link_ != nullptr) link_->send(encode(Leave{options_.node}));
  changed_.notify_all();
}

void JobMember::fence(const std::string& why) {
  if (life_ == nullptr) return;
  say(fmt::format("node {}.{} is out: {}", options_.node, life_->incarnation(), why));
  const std::shared_ptr<LiveMembership> life = std::exchange(life_, nullptr);
  accusations_.clear();
  if (leaving_) left_ = true;  // being out is as good as having left
  if (options_.on_fenced) options_.on_fenced(why);
  life->learn_fenced(why);
  changed_.notify_all();
}

Task<void> JobMember::attend() {
  while (!left_) {
    const std::optional<Lead> lead = co_await find();
    if (!lead) continue;
    moved_ = false;
    talking_to_ = lead->id;
    const std::unique_ptr<ControlLink> link = co_await reach(*lead);
    if (link != nullptr) co_await converse(*lead, *link);
    talking_to_.clear();
  }
}

Task<std::unique_ptr<ControlLink>> JobMember::reach(const Lead& lead) {
  std::unique_ptr<ControlLink> link;
  try {
    std::optional<std::unique_ptr<ControlLink>> made =
        co_await timeout(*env_, options_.reach_limit, net_->connect(lead.address));
    if (made) {
      link = std::move(*made);
    } else {
      trouble_.silent = true;
      trouble_.why = fmt::format("no answer from {} within {:.2f} s", lead.address,
                                 seconds(options_.reach_limit));
    }
  } catch (const LinkLost& error) {
    if (error.cause() == LinkLost::Cause::Gone) {
      trouble_.gone = trouble_.dead = true;
    } else {
      trouble_.silent = true;
    }
    trouble_.why = error.what();
  } catch (const ConfigError& error) {
    // Later, another process may have the port of a coordinator that died.
    if (!ever_talked_) throw;
    trouble_.gone = trouble_.dead = true;
    trouble_.why = error.what();
  }
  co_return link;
}

namespace {

Task<void> until_moved(const bool& moved, const bool& left, Signal& changed) {
  while (!moved && !left) co_await changed.wait();
}

}  // namespace

// Until the link is lost or silent, another process has the office, or this node has left.
Task<void> JobMember::converse(Lead lead, ControlLink& link) {
  link_ = &link;
  gaps_ = GapMeter(env_->now());
  last_look_ = env_->now();
  introduce(link);
  std::exception_ptr error;
  try {
    co_await race(listen(link), speak(link), until_moved(moved_, left_, changed_));
  } catch (const LinkLost& lost) {
    trouble_.broken = true;
    trouble_.why = lost.what();
  } catch (const Corrupt& corrupt) {
    say(fmt::format("the coordinator at {} sent a malformed message: {}", lead.address,
                    corrupt.what()));
    trouble_.silent = true;
    trouble_.why = corrupt.what();
  } catch (...) {
    error = std::current_exception();
  }
  link_ = nullptr;
  trouble_.since = env_->now();
  if (error) std::rethrow_exception(error);
}

void JobMember::introduce(ControlLink& link) {
  ask_again_ = false;
  Join join;
  join.job = options_.job.job;
  join.process = options_.process;
  join.host = options_.host;
  join.attempt = ++attempts_;
  if (life_ != nullptr) join.seen = life_->now().generation;
  if (wanted_ || life_ != nullptr) {
    Applicant applicant;
    applicant.node = options_.node;
    applicant.role = options_.role;
    if (life_ != nullptr) applicant.incarnation = life_->incarnation();
    applicant.contact = options_.contact;
    join.nodes.push_back(std::move(applicant));
    join.accusations = accusations_;
  }
  link.send(encode(std::move(join)));
  if (life_ != nullptr && end_) link.send(encode(*end_));
  if (leaving_) link.send(encode(Leave{options_.node}));
}

// As in the coordinator: if nothing woke this process for long, it was away itself.
Time JobMember::look() {
  const Time now = env_->now();
  const Duration absence = now - std::exchange(last_look_, now);
  if (absence > options_.job.heartbeat * 3) gaps_.forgive(absence);
  return now;
}

Task<void> JobMember::listen(ControlLink& link) {
  while (true) {
    const std::string bytes = co_await link.receive();
    const Time now = look();
    const Message message = decode(bytes);
    if (std::holds_alternative<Heartbeat>(message)) gaps_.heard(now);
    handle(link, message);
    // The coordinator is alive, whatever was assumed.
    trouble_.gone = trouble_.dead = trouble_.silent = trouble_.broken = false;
    trouble_.talked = true;
    trouble_.heard = now;
  }
}

Task<void> JobMember::speak(ControlLink& link) {
  while (true) {
    const Duration silence = look() - gaps_.last();
    // If no other process could take its place, a silent coordinator is waited for: hanging up
    // would count as loss when it resumes.
    const Duration patience =
        gaps_.patience(options_.job.view.suspect_after) * (options_.coordinator.empty() ? 1 : 10);
    if (silence > patience) {
      trouble_.silent = true;
      trouble_.why = fmt::format("{} was silent for {:.2f} s", link.peer(), seconds(silence));
      co_return;
    }
    if (ask_again_) introduce(link);
    Heartbeat heartbeat;
    if (life_ != nullptr) heartbeat.lives.push_back({options_.node, life_->incarnation()});
    link.send(encode(heartbeat));
    co_await env_->sleep(options_.job.heartbeat);
  }
}

void JobMember::handle(ControlLink& link, const Message& message) {
  if (const Published* const published = std::get_if<Published>(&message)) {
    take_view(published->roster);
  } else if (const Evicted* const evicted = std::get_if<Evicted>(&message)) {
    const bool ours = life_ != nullptr && evicted->node == options_.node &&
                      evicted->incarnation == life_->incarnation();
    if (ours) fence(evicted->why);
  } else if (const Refused* const refusal = std::get_if<Refused>(&message)) {
    refused(*refusal);
  } else if (const Farewell* const farewell = std::get_if<Farewell>(&message)) {
    if (farewell->node != options_.node || !leaving_) return;
    left_ = true;
    changed_.notify_all();
  } else if (!std::holds_alternative<Heartbeat>(message)) {
    throw Corrupt(fmt::format("{} sent a member's message (kind {}) to a member", link.peer(),
                              message.index()));
  }
  if (std::holds_alternative<Refused>(message)) return;
  ever_talked_ = true;
}

void JobMember::take_view(const Roster& roster) {
  const auto view = std::make_shared<const View>(roster.view());
  const auto own = std::ranges::find_if(roster.rows, [&](const Admitted& row) {
    return row.member.node == options_.node && row.process.instance == options_.process.instance;
  });
  if (life_ != nullptr) {
    if (view->generation <= life_->now().generation) return;  // told twice, after a takeover
    if (own == roster.rows.end() || own->member.incarnation != life_->incarnation())
      return fence(fmt::format("node {} is no longer in view {} ({})", options_.node,
                               view->generation, roster.reason));
  } else {
    // Not in the roster, or an earlier incarnation of this node.
    if (!wanted_ || own == roster.rows.end() || own->member.incarnation <= last_life_) return;
    wanted_ = false;
    taken_since_.reset();
    last_life_ = own->member.incarnation;
    life_ = std::shared_ptr<LiveMembership>(new LiveMembership(*this, last_life_));
  }
  std::erase_if(accusations_,
                [&](const Accusation& a) { return !view->has(a.node, a.incarnation); });
  if (options_.on_view) options_.on_view(view, contacts_of(roster));
  life_->learn(view);
  changed_.notify_all();
}

void JobMember::refused(const Refused& refusal) {
  if (refusal.kind == Refusal::Config)
    throw ConfigError(fmt::format("node {} cannot take part: {}", options_.node, refusal.why));
  if (refusal.kind == Refusal::NotCoordinator) {
    trouble_.gone = true;
    throw LinkLost(refusal.why);
  }
  // The other process may be dying, so ask again for a while.
  const Time now = env_->now();
  if (!taken_since_) taken_since_ = now;
  if (now - *taken_since_ > options_.taken_limit)
    throw ConfigError(fmt::format("node {} cannot take part: {}", options_.node, refusal.why));
  ask_again_ = true;
}

}  // namespace shoal
