#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace shoal {
namespace {

TEST(EditDistance, counts_each_kind_of_slip_as_one) {
  EXPECT_EQ(edit_distance("swarm", "swarm"), 0u);
  EXPECT_EQ(edit_distance("swarm", "swrm"), 1u);    // deleted
  EXPECT_EQ(edit_distance("swarm", "swaarm"), 1u);  // inserted
  EXPECT_EQ(edit_distance("swarm", "sworm"), 1u);   // replaced
  EXPECT_EQ(edit_distance("swarm", "sawrm"), 1u);   // neighbours swapped
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Suggest, names_the_nearest_word_or_all_when_none_is_near) {
  const std::vector<std::string> known{"train", "swarm", "doctor"};
  EXPECT_EQ(suggest("sawrm", known), "Did you mean 'swarm'?");
  EXPECT_EQ(suggest("tarin", known), "Did you mean 'train'?");
  EXPECT_EQ(suggest("zzzzz", known), "Known: train, swarm, doctor.");
  EXPECT_EQ(suggest("x", {}), "There are no choices.");
}

}  // namespace
}  // namespace shoal
