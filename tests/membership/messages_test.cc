#include "membership/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "membership/heartbeat.h"
#include "membership/records.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Admitted row(std::uint32_t node) {
  Admitted row;
  row.member.node = NodeId(node);
  row.member.role = node % 2 == 0 ? Role::Worker : Role::Server;
  row.member.process = 4000 + node;
  row.member.host = HostId(7);
  row.member.incarnation = Incarnation(node + 1);
  row.process.host = "a-host";
  row.process.process = row.member.process;
  row.process.instance = 0xfedc'ba98'7654'3210U + node;
  row.contact = std::string("\0\x01\xff bytes", 9);
  return row;
}

Roster roster() {
  Roster roster;
  roster.generation = Generation(12);
  roster.rows = {row(0), row(3)};
  roster.reason = "node 1 out (left)";
  return roster;
}

std::vector<Message> one_of_each() {
  Join join;
  join.job = "lenet";
  join.process = row(1).process;
  join.host = HostId(9);
  join.attempt = 3;
  join.seen = Generation(11);
  Applicant applicant;
  applicant.node = NodeId(1);
  applicant.role = Role::Server;
  applicant.incarnation = Incarnation(5);
  applicant.contact = "here";
  join.nodes = {applicant, Applicant()};
  Accusation accusation;
  accusation.node = NodeId(2);
  accusation.incarnation = Incarnation(1);
  accusation.why = "reset by peer";
  join.accusations = {accusation};
  Heartbeat heartbeat;
  heartbeat.lives.push_back({NodeId(1), Incarnation(5)});
  return {join,
          Heartbeat(),
          heartbeat,
          Accuse{NodeId(1), accusation},
          EndJob{NodeId(3), Ending::Complete, "SIGTERM"},
          Leave{NodeId(4)},
          Published{roster()},
          Evicted{NodeId(2), Incarnation(1), "silent for 1.1 s"},
          Refused{Refusal::NotCoordinator, "ask another"},
          Farewell{NodeId(4)}};
}

TEST(Messages, ComeBackAsTheyWere) {
  for (const Message& message : one_of_each())
    EXPECT_TRUE(decode(encode(message)) == message) << "kind " << message.index();
}

TEST(Messages, EveryCutOffOrLongerOneIsRefused) {
  for (const Message& message : one_of_each()) {
    const std::string bytes = encode(message);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      EXPECT_THROW(decode(std::string_view(bytes).substr(0, size)), Corrupt)
          << "kind " << message.index() << ", " << size << " of " << bytes.size() << " bytes";
    EXPECT_THROW(decode(bytes + "x"), Corrupt) << "kind " << message.index();
  }
}

TEST(Messages, AnyBytesAreAMessageOrCorrupt) {
  Random random(Seed(1), Purpose::Test);
  const std::vector<Message> messages = one_of_each();
  unsigned read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = encode(messages[random.below(messages.size())]);
    const std::uint64_t changes = random.between(1, 4);
    for (std::uint64_t k = 0; k < changes; ++k)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    try {
      const Message message = decode(bytes);
      // A message of another protocol version is not read any further.
      const Join* const join = std::get_if<Join>(&message);
      if (join == nullptr || join->protocol == kMembershipProtocol) {
        EXPECT_EQ(encode(message), bytes);
      }
      ++read;
    } catch (const Corrupt&) {
    }
  }
  EXPECT_GT(read, 100U);
}

TEST(Messages, OfAnotherProtocolOnlyTheVersionIsRead) {
  Join join;
  join.protocol = kMembershipProtocol + 1;
  const Message message = decode(encode(join) + "whatever the next version has here");
  EXPECT_EQ(std::get<Join>(message).protocol, kMembershipProtocol + 1);
}

TEST(Records, ComeBackAsTheyWere) {
  Lead lead;
  lead.address = "127.0.0.1:4000";
  lead.who = row(1).process;
  lead.id = "0123-4";
  EXPECT_EQ(parse_lead("k", to_json(lead)), lead);

  ViewRecord record;
  record.roster = roster();
  record.highest = {{NodeId(0), Incarnation(1)}, {NodeId(3), Incarnation(4)}};
  record.by = "0123-4";
  EXPECT_EQ(parse_view_record("k", to_json(record)), record);
  EXPECT_EQ(parse_view_record("k", to_json(ViewRecord())), ViewRecord());
}

TEST(Records, BytesThatAreNoTextDoNotStopThem) {
  ViewRecord record;
  record.roster = roster();
  record.roster.reason = "lost: \xff\xfe";
  const ViewRecord read = parse_view_record("k", to_json(record));
  EXPECT_EQ(read.roster.rows, record.roster.rows);
}

TEST(Records, NonsenseNamesTheKeyAndWhatToDo) {
  const std::vector<std::string> nonsense = {
      "",
      "<html>",
      "[]",
      "{}",
      R"({"address": 5})",
      R"({"generation": "x", "members": [], "reason": "", "highest": {}, "by": ""})",
      R"({"generation": 1, "members": [], "reason": "", "highest": {"x": 1}, "by": ""})",
      R"({"generation": 1, "members": [{"node": 1}], "reason": "", "highest": {}, "by": ""})"};
  for (const std::string& text : nonsense) {
    try {
      parse_view_record("shoal/job/view", text);
      FAIL() << text;
    } catch (const Corrupt& error) {
      EXPECT_THAT(error.what(), HasSubstr("shoal/job/view")) << text;
      EXPECT_THAT(error.what(), HasSubstr("another name")) << text;
    }
    EXPECT_THROW(parse_lead("shoal/job/coordinator", text), Corrupt) << text;
  }
}

TEST(GapMeter, PatienceIsTenTimesTheP99Gap) {
  Time now{};
  GapMeter gaps(now);
  EXPECT_EQ(gaps.patience(1s), 1s);
  for (int i = 0; i < 200; ++i) gaps.heard(now += 100ms);
  EXPECT_EQ(gaps.patience(1s), 1s);
  gaps.heard(now += 900ms);
  EXPECT_EQ(gaps.patience(1s), 1s) << "one late heartbeat is no habit";
  gaps.heard(now += 300ms);
  EXPECT_EQ(gaps.patience(1s), 3s);
  for (int i = 0; i < 128; ++i) gaps.heard(now += 10ms);
  EXPECT_EQ(gaps.patience(1s), 1s) << "old gaps are forgotten";
}

// A regression: after three freezes within some seconds, the others waited ten times as long for a
// rank.
TEST(GapMeter, ASilenceThatCountedAsLossMakesNobodyMorePatient) {
  Time now(1s);
  GapMeter gaps(now);
  for (int freeze = 0; freeze < 3; ++freeze) {
    for (int i = 0; i < 30; ++i) gaps.heard(now += 100ms);
    EXPECT_EQ(gaps.patience(1s), 1s) << freeze;
    gaps.heard_again(now += 1100ms);
    EXPECT_EQ(gaps.last(), now);
  }
}

TEST(GapMeter, AbsenceOfTheListenerIsNobodysSilence) {
  GapMeter gaps(Time(1s));
  gaps.forgive(30s);
  EXPECT_EQ(gaps.last(), Time(31s));
}

}  // namespace
}  // namespace shoal
