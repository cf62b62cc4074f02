// What processes of a job and its coordinator tell each other over a ControlLink.
//
//   member:       Join -> Heartbeat.. Accuse.. EndJob Leave
//   coordinator:  Published.. Heartbeat.. | Evicted | Refused | Farewell
//
// A link carries one process; its nodes come and go on it, life after life.
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

// Of these messages. Raise it when their bytes change.
inline constexpr std::uint32_t kMembershipProtocol = 2;

// One start of a program.
struct ProcessInfo {
  std::string host;            // how people call the machine
  std::uint32_t process = 0;   // its number there
  std::uint64_t instance = 0;  // drawn at its start: tells it from any other, also of that number

  bool operator==(const ProcessInfo&) const = default;
};
std::string describe(const ProcessInfo& process);

// A node that takes part, and how the transports of others reach it.
struct Admitted {
  Member member;
  ProcessInfo process;
  std::string contact;  // bytes that only the transport understands

  bool operator==(const Admitted&) const = default;
};

// A view with all that belongs to it; what the coordinator commits and publishes.
struct Roster {
  Generation generation;
  std::vector<Admitted> rows;  // by node
  std::string reason;          // why it replaced the one before
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

// An operation with that life of `node` failed at the sender.
struct Accusation {
  NodeId node;
  Incarnation incarnation;
  std::string why;

  bool operator==(const Accusation&) const = default;
};

struct Applicant {
  NodeId node;
  Role role = Role::Worker;
  Incarnation incarnation;  // 0: asks for a new life; else returns with the one it has
  std::string contact;

  bool operator==(const Applicant&) const = default;
};

struct Join {
  std::uint32_t protocol = kMembershipProtocol;  // of another one nothing else is known
  std::string job;
  ProcessInfo process;
  HostId host;
  std::uint64_t attempt = 1;  // counted by the process: what an older link brings late is ignored
  Generation seen;            // the newest view it knows: a coordinator behind that is none
  std::vector<Applicant> nodes;
  std::vector<Accusation> accusations;  // what an earlier coordinator may have taken to its grave

  bool operator==(const Join&) const = default;
};

// A member names its lives, so that one who was not told that it is out still learns of it.
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

// Somebody wants the whole job to end.
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
  Config,          // another job, another protocol: asking again is in vain
  NotCoordinator,  // look up who is
};
struct Refused {
  Refusal kind = Refusal::Config;
  std::string why;

  bool operator==(const Refused&) const = default;
};

// The node that said it leaves is out.
struct Farewell {
  NodeId node;

  bool operator==(const Farewell&) const = default;
};

using Message =
    std::variant<Join, Heartbeat, Accuse, EndJob, Leave, Published, Evicted, Refused, Farewell>;

std::string encode(const Message& message);
Message decode(std::string_view bytes);  // throws Corrupt

}  // namespace shoal
