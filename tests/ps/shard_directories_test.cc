#include "ps/shard_directories.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/task_group.h"
#include "sim/world.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

struct Agreed {
  std::uint64_t messages = 0;
  Bytes most_sent;  // by a worker
  std::vector<ShardDirectory> directories;
};

Task<void> agree_once(Node& node, std::size_t shards, Agreed& agreed) {
  ShardDirectories directories(node, shards, 1);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    tasks.spawn(directories.follow());
    co_await directories.reach(Generation(1));
    tasks.cancel();
  });
  agreed.directories.push_back(directories.now());
  if (node.membership.now().find(node.id)->role == Role::Worker)
    agreed.most_sent = std::max(agreed.most_sent, node.endpoint.sent());
  co_await node.endpoint.retire(ShardDirectories::kGroup, node.membership.now().generation);
}

Agreed agree(std::size_t workers, std::size_t servers) {
  Cluster cluster = Cluster::uniform(workers + servers, {.latency = 20us, .bytes_per_s = 1e9});
  for (std::size_t i = 0; i < servers; ++i) cluster.nodes[workers + i].role = Role::Server;
  World world(cluster, {.seed = Seed(2), .fixed_view = true});
  Agreed agreed;
  const Outcome outcome = world.run([&](Node& node) { return agree_once(node, servers, agreed); });
  EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
  agreed.messages = outcome.messages;
  return agreed;
}

// This makes it possible to simulate ten thousand workers with a hundred servers.
TEST(ShardDirectories, CostTwoMessagesAMemberAndAWorkerSendsTheSameHoweverManyThereAre) {
  const Agreed few = agree(10, 4);
  const Agreed many = agree(300, 4);
  EXPECT_EQ(few.messages, 2U * 13);
  EXPECT_EQ(many.messages, 2U * 303);
  EXPECT_EQ(few.most_sent, many.most_sent);
  ASSERT_EQ(many.directories.size(), 304U);
  for (const ShardDirectory& d : many.directories) {
    ASSERT_EQ(d.shards.size(), 4U);
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_EQ(d.shards[k].chain, many.directories[0].shards[k].chain);
  }
}

}  // namespace
}  // namespace shoal
