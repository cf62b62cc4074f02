// Two nodes of one process measure real costs; the test does not check how long that takes.
#include "app/calibrate_node.h"

#include <gtest/gtest.h>

#include "learner/quadratic.h"
#include "support/no_files.h"
#include "transport/inproc_world.h"

namespace shoal {
namespace {

TEST(CalibrateNode, FindsGradientsLoopsAndLinks) {
  InprocOptions world_options;
  world_options.nodes = world_options.loops = 2;
  world_options.compute_threads = true;
  std::array<Calibration, 2> found;
  CalibrateOptions options;
  options.batches = {2, 4};
  options.samples = 8;
  options.workers = 2;
  options.rule = default_rule(RuleKind::Momentum);
  options.encoding = parse_encoding("onebit+ef");
  options.seconds = 0.01;
  options.kernel = 7;
  options.cores = 4;
  InprocWorld world(world_options, [](Env&, NodeId) { return std::make_unique<NoFiles>(); });
  std::array<std::unique_ptr<QuadraticLearner>, 2> learners;
  for (auto& learner : learners)
    learner = std::make_unique<QuadraticLearner>(
        QuadraticOptions{.dimensions = Elements(30'000), .buckets = 3});
  const std::vector<NodeEnd> ends = world.run([&](Node& node) {
    const std::size_t i = node.id.value();
    return calibrate_node(node, *learners[i], options, found[i]);
  });
  for (const NodeEnd& end : ends) EXPECT_EQ(end.how, NodeEnd::How::Returned);
  const Calibration& c = found[0];
  EXPECT_EQ(c.tensors, std::vector<Elements>(3, Elements(10'000)));
  ASSERT_EQ(c.gradients.size(), 2U);
  EXPECT_EQ(c.gradients[1].batch, 4U);
  EXPECT_GT(c.gradients[1].ready.back(), 0);
  EXPECT_GT(c.gradients[1].alone, 0);
  EXPECT_GT(c.elements.reduce, 0);
  EXPECT_GT(c.elements.update, 0);
  EXPECT_GT(c.elements.copy, 0);
  EXPECT_GT(c.elements.encode, 0);
  EXPECT_GT(c.elements.decode, 0);
  ASSERT_TRUE(c.inside.has_value());
  EXPECT_GT(c.inside->bytes_per_s, 0);
  EXPECT_EQ(c.cores, 4);
  // All nodes have the same result.
  EXPECT_EQ(to_json(c), to_json(found[1]));
}

}  // namespace
}  // namespace shoal
