// The records of a job in the store: the coordinator and the present view. They are JSON, so people
// can read them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/types.h"
#include "membership/messages.h"

namespace shoal {

// The keys: PREFIXcoordinator, PREFIXview.
struct JobKeys {
  explicit JobKeys(const std::string& prefix)
      : coordinator(prefix + "coordinator"), view(prefix + "view") {}
  std::string coordinator;
  std::string view;
};

// A term of office. Two terms never have the same id, even of one process.
struct Lead {
  std::string address;
  ProcessInfo who;
  std::string id;

  bool operator==(const Lead&) const = default;
};

struct ViewRecord {
  Roster roster;
  std::map<NodeId, Incarnation> highest;  // the highest ever given to each node
  std::string by;                         // the term of office that wrote it

  bool operator==(const ViewRecord&) const = default;
};

std::string to_json(const Lead& lead);
std::string to_json(const ViewRecord& record);
// Throw Corrupt, naming the key.
Lead parse_lead(const std::string& key, std::string_view json);
ViewRecord parse_view_record(const std::string& key, std::string_view json);

}  // namespace shoal
