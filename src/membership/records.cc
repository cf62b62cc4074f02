#include "membership/records.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parse.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

// Contacts are bytes of the transport; JSON holds only text.
std::string to_hex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

unsigned digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  throw Corrupt(fmt::format("'{}' is not a hexadecimal digit", c));
}

std::string from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) throw Corrupt("an odd number of hexadecimal digits");
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  return bytes;
}

// Names and reasons may contain bytes that are not UTF-8 (a host name, an error of the system).
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const ProcessInfo& p) {
  return {{"host", p.host}, {"process", p.process}, {"instance", p.instance}};
}

ProcessInfo process_of(const Json& json) {
  ProcessInfo process;
  json.at("host").get_to(process.host);
  json.at("process").get_to(process.process);
  json.at("instance").get_to(process.instance);
  return process;
}

Json json_of(const Admitted& row) {
  return {{"node", row.member.node.value()},
          {"role", row.member.role == Role::Server ? "server" : "worker"},
          {"process", json_of(row.process)},
          {"number", row.member.process},
          {"host", row.member.host.value()},
          {"incarnation", row.member.incarnation.value()},
          {"contact", to_hex(row.contact)}};
}

Admitted row_of(const Json& json) {
  Admitted row;
  row.member.node = NodeId(json.at("node").get<std::uint32_t>());
  row.member.role = json.at("role").get<std::string>() == "server" ? Role::Server : Role::Worker;
  row.process = process_of(json.at("process"));
  row.member.process = json.at("number").get<std::uint32_t>();
  row.member.host = HostId(json.at("host").get<std::uint32_t>());
  row.member.incarnation = Incarnation(json.at("incarnation").get<std::uint32_t>());
  row.contact = from_hex(json.at("contact").get<std::string>());
  return row;
}

Ending ending_of(int number) {
  if (number < 0 || number > static_cast<int>(Ending::Complete))
    throw Corrupt(fmt::format("an ending of kind {}", number));
  return static_cast<Ending>(number);
}

// Runs `read` on the parsed text; any problem becomes Corrupt, which names the key.
template <class F>
auto parse(const std::string& key, std::string_view text, F read) {
  try {
    return read(Json::parse(text));
  } catch (const std::exception& error) {
    throw Corrupt(fmt::format(
        "the store's key {} holds no record of this program: {}. Another program or version may "
        "have written it; give the job another name, or remove the key",
        key, error.what()));
  }
}

}  // namespace

std::string to_json(const Lead& lead) {
  return dump(Json{{"address", lead.address}, {"who", json_of(lead.who)}, {"id", lead.id}});
}

std::string to_json(const ViewRecord& record) {
  Json rows = Json::array();
  for (const Admitted& row : record.roster.rows) rows.push_back(json_of(row));
  Json highest = Json::object();
  for (const auto& [node, life] : record.highest)
    highest[std::to_string(node.value())] = life.value();
  return dump(Json{{"generation", record.roster.generation.value()},
                   {"members", std::move(rows)},
                   {"reason", record.roster.reason},
                   {"ending", static_cast<int>(record.roster.ending)},
                   {"highest", std::move(highest)},
                   {"by", record.by}});
}

Lead parse_lead(const std::string& key, std::string_view json) {
  return parse(key, json, [](const Json& j) {
    Lead lead;
    j.at("address").get_to(lead.address);
    lead.who = process_of(j.at("who"));
    j.at("id").get_to(lead.id);
    return lead;
  });
}

ViewRecord parse_view_record(const std::string& key, std::string_view json) {
  return parse(key, json, [](const Json& j) {
    ViewRecord record;
    record.roster.generation = Generation(j.at("generation").get<std::uint32_t>());
    for (const Json& row : j.at("members")) record.roster.rows.push_back(row_of(row));
    j.at("reason").get_to(record.roster.reason);
    record.roster.ending = ending_of(j.at("ending").get<int>());
    for (const auto& [text, life] : j.at("highest").items()) {
      const auto node = parse_number<std::uint32_t>(text);
      if (!node) throw Corrupt(fmt::format("'{}' is not the number of a node", text));
      record.highest[NodeId(*node)] = Incarnation(life.get<std::uint32_t>());
    }
    j.at("by").get_to(record.by);
    return record;
  });
}

}  // namespace shoal
