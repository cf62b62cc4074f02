// The messages between processes of a job and its coordinator, over a ControlLink.
//
//   member:       Join -> Heartbeat.. Accuse.. EndJob Leave
//   coordinator:  Published.. Heartbeat.. | Evicted | Refused | Farewell
//
// A link belongs to one process; its nodes join and leave over it, incarnation after incarnation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/types.h"
#include "runtime/view.h"

namespace shoal {

// The version of these messages. Raise it when their bytes change.
inline constexpr std::uint32_t kMembershipProtocol = 2;

// One start of a program.
struct ProcessInfo {
  std::string host;            // the machine's name
  std::uint32_t process = 0;   // its number there
  std::uint64_t instance = 0;  // random, drawn at the start: distinguishes processes with the same
                               // number

  bool operator==(const ProcessInfo&) const = default;
};
std::string describe(const ProcessInfo& process);

// A participating node, and how the transports of others reach it.
struct Admitted {
  Member member;
  ProcessInfo process;
  std::string contact;  // bytes that only the transport understands

  bool operator==(const Admitted&) const = default;
};

// A view with all data that belongs to it, as the coordinator commits and publishes it.
struct Roster {
  Generation generation;
  std::vector<Admitted> rows;  // by node
  std::string reason;          // of the change from the view before
  Ending ending = Ending::No;

  bool operator==(const Roster&) const = default;
  View view() const;
};

struct Contact {
  Incarnation incarnation;
  std::string bytes;

  bool operator==(const Contact&) const = default;
};
using Contacts = std::map<NodeId, Contact>;
Contacts contacts_of(const Roster& roster);

// An operation with that incarnation of `node` failed at the sender.
struct Accusation {
  NodeId node;
  Incarnation incarnation;
  std::string why;

  bool operator==(const Accusation&) const = default;
};

struct Applicant {
  NodeId node;
  Role role = Role::Worker;
  Incarnation incarnation;  // 0: asks for a new incarnation; otherwise reconnects with this one
  std::string contact;

  bool operator==(const Applicant&) const = default;
};

struct Join {
  std::uint32_t protocol = kMembershipProtocol;  // of another version nothing else is decoded
  std::string job;
  ProcessInfo process;
  HostId host;
  std::uint64_t attempt = 1;  // counted by the process: late messages of an older link are ignored
  Generation seen;            // the newest view it knows: a coordinator with an older one is not
                              // valid
  std::vector<Applicant> nodes;
  std::vector<Accusation> accusations;  // an earlier coordinator may have lost them

  bool operator==(const Join&) const = default;
};

// A member names its incarnations, so that an evicted one that was not told learns of it.
struct Heartbeat {
  struct Life {
    NodeId node;
    Incarnation incarnation;

    bool operator==(const Life&) const = default;
  };
  std::vector<Life> lives;

  bool operator==(const Heartbeat&) const = default;
};

struct Accuse {
  NodeId by;
  Accusation accusation;

  bool operator==(const Accuse&) const = default;
};

// A request to end the whole job.
struct EndJob {
  NodeId by;
  Ending how = Ending::Stopped;
  std::string why;

  bool operator==(const EndJob&) const = default;
};

struct Leave {
  NodeId node;

  bool operator==(const Leave&) const = default;
};

struct Published {
  Roster roster;

  bool operator==(const Published&) const = default;
};

struct Evicted {
  NodeId node;
  Incarnation incarnation;
  std::string why;

  bool operator==(const Evicted&) const = default;
};

enum class Refusal : std::uint8_t {
  Taken,           // another process has that node; it may be dying, so ask again
  Config,          // another job, another protocol: do not ask again
  NotCoordinator,  // look up the coordinator
};
struct Refused {
  Refusal kind = Refusal::Config;
  std::string why;

  bool operator==(const Refused&) const = default;
};

// The node that announced its leave is out.
struct Farewell {
  NodeId node;

  bool operator==(const Farewell&) const = default;
};

using Message =
    std::variant<Join, Heartbeat, Accuse, EndJob, Leave, Published, Evicted, Refused, Farewell>;

std::string encode(const Message& message);
Message decode(std::string_view bytes);  // throws Corrupt

}  // namespace shoal
