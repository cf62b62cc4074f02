#include "ps/groups.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ps/options.h"

namespace shoal {
namespace {

// Nodes 0 to 5 are workers on three hosts, two each; node 6 is a server on the first host.
View six() {
  View view;
  view.generation = Generation(1);
  for (std::uint32_t i = 0; i < 7; ++i)
    view.members.push_back({NodeId(i), i < 6 ? Role::Worker : Role::Server, i,
                            HostId(i < 6 ? i / 2 : 0), Incarnation(1)});
  return view;
}

View without(View view, std::uint32_t node) {
  std::erase_if(view.members, [&](const Member& m) { return m.node == NodeId(node); });
  return view;
}

TEST(Groups, TheFirstOfAGroupSpeaksForIt) {
  const Groups by_host = parse_groups("host"), by_four = parse_groups("4");
  EXPECT_EQ(leader_of(six(), by_host, NodeId(3)), NodeId(2));
  EXPECT_EQ(leader_of(six(), by_four, NodeId(3)), NodeId(0));
  EXPECT_EQ(leader_of(six(), by_four, NodeId(5)), NodeId(4));
  EXPECT_EQ(members_of(six(), by_host, NodeId(2)), 2U);
  EXPECT_EQ(members_of(six(), by_four, NodeId(0)), 4U);
  EXPECT_EQ(members_of(six(), by_four, NodeId(4)), 2U) << "the server of node 6 is none of them";
  EXPECT_EQ(members_of(six(), by_four, NodeId(1)), 1U) << "it speaks for nobody";
}

TEST(Groups, WhenItIsLostTheNextOneDoesAndTheOtherGroupsStayAsTheyAre) {
  const Groups by_two = parse_groups("2");
  const View view = without(six(), 0);
  EXPECT_TRUE(leads(view, by_two, NodeId(1)));
  EXPECT_FALSE(leads(six(), by_two, NodeId(1)));
  for (const std::uint32_t other : {2U, 4U}) EXPECT_TRUE(leads(view, by_two, NodeId(other)));
  EXPECT_FALSE(leads(view, by_two, NodeId(0))) << "it is not there";
}

TEST(Groups, ServersAreInNone) {
  for (const char* const groups : {"off", "host", "1", "4"})
    EXPECT_FALSE(leads(six(), parse_groups(groups), NodeId(6))) << groups;
}

TEST(Groups, WithoutThemAndInGroupsOfOneEachWorkerIsForItself) {
  for (const char* const groups : {"off", "1"})
    for (std::uint32_t i = 0; i < 6; ++i) {
      EXPECT_TRUE(leads(six(), parse_groups(groups), NodeId(i))) << groups;
      EXPECT_EQ(members_of(six(), parse_groups(groups), NodeId(i)), 1U) << groups;
    }
}

TEST(Groups, AreNamedAsTheyAreSaid) {
  for (const char* const groups : {"off", "host", "1", "12"})
    EXPECT_EQ(to_string(parse_groups(groups)), groups);
  for (const char* const wrong : {"", "0", "-1", "hosts", "4x", "2.5"})
    EXPECT_THROW(parse_groups(wrong), ConfigError) << wrong;
  try {
    parse_groups("hsot");
    FAIL() << "it was taken";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "--groups hsot: size (workers of a group): expected a whole number from 1 on, not "
                 "'hsot'; or take off or host");
  }
}

TEST(Groups, APushHasTheSamplesOfAllMembers) {
  ParameterServerOptions ps;
  ps.consistency = consistency::Async{};
  EXPECT_EQ(samples_per_update(ps, 10, 6, 3), 10U);
  ps.groups = parse_groups("host");
  EXPECT_EQ(samples_per_update(ps, 10, 6, 3), 20U);
  ps.groups = parse_groups("6");
  EXPECT_EQ(samples_per_update(ps, 10, 6, 3), 60U);
  ps.consistency = consistency::Synchronous{};
  for (const char* const groups : {"off", "host", "4"}) {
    ps.groups = parse_groups(groups);
    EXPECT_EQ(samples_per_update(ps, 10, 6, 3), 60U) << groups;
  }
}

}  // namespace
}  // namespace shoal
