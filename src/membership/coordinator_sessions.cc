#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "membership/coordinator.h"

namespace shoal {
namespace {

Task<void> until(const bool& condition, Signal& signal) {
  while (!condition) co_await signal.wait();
}

}  // namespace

Task<void> JobCoordinator::attend(Session& session) {
  std::string why = "the coordinator dropped it";
  try {
    co_await race(read(session), until(session.closing, session.closed));
  } catch (const LinkLost& error) {
    why = error.what();
  } catch (const Corrupt& error) {
    why = fmt::format("{} sent a malformed message: {}", session.link->peer(), error.what());
    say(why);
  }
  drop(session, why);
}

Task<void> JobCoordinator::read(Session& session) {
  while (true) {
    const std::string bytes = co_await session.link->receive();
    const Time now = look();
    const Message message = decode(bytes);
    if (const Heartbeat* const heartbeat = std::get_if<Heartbeat>(&message)) {
      bool out = false;
      for (const Heartbeat::Life& life : heartbeat->lives) {
        if (view_.has(life.node, life.incarnation)) continue;
        out = true;
        tell_evicted(session, life.node, life.incarnation);
      }
      if (out) {
        session.gaps.heard_again(now);
      } else {
        session.gaps.heard(now);
      }
    }
    handle(session, message);
  }
}

Task<void> JobCoordinator::beat() {
  while (true) {
    const Time now = look();
    for (const auto& [id, session] : sessions_) {
      session->link->send(encode(Heartbeat{}));
      const bool of_use = std::ranges::any_of(
          lives_, [s = session.get()](const Life& life) { return life.session == s; });
      const Duration silence = now - session->gaps.last();
      if (of_use || silence <= session->gaps.patience(options_.view.suspect_after)) continue;
      session->closing = true;
      session->closed.notify_all();
    }
    wake();  // a decision may be due
    co_await env_->sleep(options_.heartbeat);
  }
}

// The session is destroyed by this call.
void JobCoordinator::drop(Session& session, const std::string& why) {
  for (Life& life : lives_) {
    if (life.session != &session) continue;
    life.session = nullptr;
    if (life.left) continue;
    life.lost = true;
    life.why = why;
  }
  sessions_.erase(session.id);
  wake();
}

void JobCoordinator::handle(Session& session, const Message& message) {
  if (const Join* const asked = std::get_if<Join>(&message)) {
    join(session, *asked);
  } else if (const Accuse* const accusing = std::get_if<Accuse>(&message)) {
    accuse(session, accusing->by, accusing->accusation);
  } else if (const EndJob* const end = std::get_if<EndJob>(&message)) {
    end_job(session, *end);
  } else if (const Leave* const leaving = std::get_if<Leave>(&message)) {
    leave(session, leaving->node);
  } else if (!std::holds_alternative<Heartbeat>(message)) {
    throw Corrupt(
        fmt::format("a coordinator's message (kind {}) to a coordinator", message.index()));
  }
}

void JobCoordinator::refuse(Session& session, Refusal kind, std::string why) {
  if (std::exchange(last_refusal_, why) != why)  // it will ask again and again
    say(fmt::format("refused {}: {}", session.link->peer(), why));
  session.link->send(encode(Refused{kind, std::move(why)}));
}

void JobCoordinator::join(Session& session, const Join& join) {
  if (join.protocol != kMembershipProtocol) {
    return refuse(session, Refusal::Config,
                  fmt::format("the coordinator speaks version {} of the membership protocol, this "
                              "process version {}: run the same version of shoal everywhere",
                              kMembershipProtocol, join.protocol));
  }
  if (join.job != options_.job) {
    return refuse(session, Refusal::Config,
                  fmt::format("the coordinator at {} runs job \"{}\", this process belongs to job "
                              "\"{}\": give one of them another address",
                              office_.lead.address, options_.job, join.job));
  }
  std::uint64_t& last = attempts_[join.process.instance];
  if (join.attempt <= last) return;
  last = join.attempt;
  if (join.seen > view_.generation) {
    return finish(TermEnd::Deposed,
                  fmt::format("{} has seen view {}, we are at {}", describe(join.process),
                              join.seen, view_.generation));
  }
  for (const Applicant& applicant : join.nodes) {
    if (applicant.incarnation == Incarnation(0)) {
      enter(session, join, applicant);
    } else {
      come_back(session, join, applicant);
    }
  }
  if (!join.nodes.empty()) {
    for (const Accusation& accusation : join.accusations)
      accuse(session, join.nodes.front().node, accusation);
  }
  wake();
}

// A node of that process asks for a new incarnation.
void JobCoordinator::enter(Session& session, const Join& join, const Applicant& applicant) {
  const Time now = look();
  for (Life& life : lives_) {
    if (life.row.member.node != applicant.node || life.out()) continue;
    if (life.row.process.instance == join.process.instance) {
      if (in_view(life)) continue;  // replaced by the new one at its own request
      life.session = &session;      // it waits, and asks again
      life.row.contact = applicant.contact;
      return;
    }
    // It is alive, or may reconnect.
    if (now - heard(life) > patience(life)) continue;
    return refuse(session, Refusal::Taken,
                  fmt::format("node {} is {} already; {} asks for the same node. Give every "
                              "process a rank of its own",
                              applicant.node, describe(life.row.process), describe(join.process)));
  }
  // The wait for the first view begins with the first node, because programs may take long to
  // start.
  if (lives_.empty() && view_.members.empty()) started_ = now;
  Life life;
  life.row.member.node = applicant.node;
  life.row.member.role = applicant.role;
  life.row.member.process = join.process.process;
  life.row.member.host = join.host;
  Incarnation& highest = record_.highest[applicant.node];
  highest = highest.next();
  life.row.member.incarnation = highest;
  life.row.process = join.process;
  life.row.contact = applicant.contact;
  life.session = &session;
  life.heard = now;
  lives_.push_back(std::move(life));
}

// A node of that process has an incarnation already and uses a new link, perhaps after an earlier
// coordinator.
void JobCoordinator::come_back(Session& session, const Join& join, const Applicant& applicant) {
  Life* const life = find(applicant.node, applicant.incarnation);
  if (life != nullptr && in_view(*life) && life->row.process.instance == join.process.instance) {
    life->session = &session;
    session.link->send(encode(Published{record_.roster}));
    return;
  }
  tell_evicted(session, applicant.node, applicant.incarnation);
}

void JobCoordinator::tell_evicted(Session& session, NodeId node, Incarnation incarnation) {
  const auto known = evicted_.find(node);
  Evicted evicted;
  evicted.node = node;
  evicted.incarnation = incarnation;
  if (known != evicted_.end() && known->second.first == incarnation) {
    evicted.why = known->second.second;
  } else {
    evicted.why = fmt::format("node {}.{} is no longer in view {} ({})", node, incarnation,
                              view_.generation, record_.roster.reason);
  }
  session.link->send(encode(std::move(evicted)));
}

void JobCoordinator::accuse(Session& session, NodeId by, const Accusation& accusation) {
  const auto accuser = std::ranges::find_if(lives_, [&](const Life& life) {
    return life.session == &session && life.row.member.node == by && in_view(life);
  });
  // Accusations by a node that is out, or about to be, do not count: of two nodes that accuse each
  // other one stays.
  if (accuser == lives_.end() || accuser->out()) return;
  Life* const accused = find(accusation.node, accusation.incarnation);
  // An accused node may be the accuser itself.
  if (accused == nullptr || !in_view(*accused) || accused->out()) return;
  accused->suspected_by = by;
  accused->why = accusation.why;
  wake();
}

void JobCoordinator::end_job(Session& session, const EndJob& asked) {
  const bool member = std::ranges::any_of(lives_, [&](const Life& life) {
    return life.session == &session && life.row.member.node == asked.by && in_view(life);
  });
  if (!member || job_end_ != Ending::No) return;
  job_end_ = asked.how;
  why_end_ = fmt::format("node {} asks for it, {}", asked.by, asked.why);
  wake();
}

void JobCoordinator::leave(Session& session, NodeId node) {
  for (Life& life : lives_) {
    if (life.session == &session && life.row.member.node == node) life.left = true;
  }
  wake();
}

JobCoordinator::Life* JobCoordinator::find(NodeId node, Incarnation incarnation) {
  const auto it = std::ranges::find_if(lives_, [&](const Life& life) {
    return life.row.member.node == node && life.row.member.incarnation == incarnation;
  });
  return it == lives_.end() ? nullptr : &*it;
}

}  // namespace shoal
