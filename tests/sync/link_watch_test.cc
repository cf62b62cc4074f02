// When encodings are chosen anew: LinkWatch.
#include "sync/link_watch.h"

#include <gtest/gtest.h>

#include <chrono>

namespace shoal {
namespace {

using namespace std::chrono_literals;

// After the choice before step 0, twenty steps of 10 ms.
LinkWatch settled() {
  LinkWatch watch;
  watch.chosen(Step(0));
  for (Step t{0}; t < Step(20); ++t) watch.took(10ms, t);
  return watch;
}

TEST(LinkWatch, EightSlowStepsInARowAreAChange) {
  LinkWatch watch = settled();
  for (Step t{20}; t < Step(27); ++t) watch.took(16ms, t);
  EXPECT_FALSE(watch.changed());
  watch.took(16ms, Step(27));
  EXPECT_TRUE(watch.changed());
  watch.chosen(Step(28));
  EXPECT_FALSE(watch.changed());
}

TEST(LinkWatch, SoAreFastOnesButNotWithAnUsualOneBetween) {
  LinkWatch watch = settled();
  for (Step t{20}; t < Step(27); ++t) watch.took(6ms, t);
  watch.took(10ms, Step(27));
  for (Step t{28}; t < Step(35); ++t) watch.took(6ms, t);
  EXPECT_FALSE(watch.changed());
  watch.took(6ms, Step(35));
  EXPECT_TRUE(watch.changed());
}

TEST(LinkWatch, TheFirstStepsMayTakeLonger) {
  LinkWatch watch;
  watch.chosen(Step(0));
  for (Step t{0}; t < Step(3); ++t) watch.took(100ms, t);
  for (Step t{3}; t < Step(40); ++t) watch.took(10ms, t);
  EXPECT_FALSE(watch.changed());
}

}  // namespace
}  // namespace shoal
