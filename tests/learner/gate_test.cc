// ParameterGate: which waits end, and when.
#include "learner/gate.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "runtime/task_group.h"
#include "support/inline_env.h"

namespace shoal {
namespace {

Cuts three() {
  return {{Elements(0), Elements(10)}, {Elements(10), Elements(5)}, {Elements(15), Elements(20)}};
}

TEST(ParameterGate, APieceIsOpenWhenAllOfItIsThere) {
  ParameterGate gate(three());
  EXPECT_FALSE(gate.is_open(Elements(3), Elements(1)));
  EXPECT_TRUE(gate.is_open(Elements(3), Elements(0)));
  gate.came(Elements(8), Elements(7));
  EXPECT_FALSE(gate.is_open(Elements(9), Elements(1))) << "the piece begins at 0";
  EXPECT_TRUE(gate.is_open(Elements(10), Elements(5)));
  EXPECT_FALSE(gate.is_open(Elements(14), Elements(2)));
  gate.came(Elements(0), Elements(8));
  EXPECT_TRUE(gate.is_open(Elements(0), Elements(15)));
  gate.came(Elements(15), Elements(20));
  EXPECT_TRUE(gate.all_open());
}

TEST(ParameterGate, ATaskWaitsUntilItsRangeIsThere) {
  InlineEnv env;
  ParameterGate gate(three());
  bool there = false;
  run(with_group([&](TaskGroup& group) -> Task<> {
    group.spawn([](ParameterGate& g, Env& e, bool& out) -> Task<> {
      co_await g.until(e, Elements(10), Elements(1));
      out = true;
    }(gate, env, there));
    co_await env.sleep(Duration(1));
    gate.came(Elements(10), Elements(4));
    co_await env.sleep(Duration(1));
    EXPECT_FALSE(there);
    gate.came(Elements(14), Elements(1));
  }));
  EXPECT_TRUE(there);
}

TEST(ParameterGate, AThreadWaitsUntilItsRangeIsThereOrRefused) {
  InlineEnv env;
  ParameterGate gate(three());
  bool there = false, refused = false;
  std::thread thread([&] {
    gate.wait(env, Elements(0), Elements(1));
    there = true;
    try {
      gate.wait(env, Elements(0), Elements(35));
    } catch (const Cancelled&) {
      refused = true;
    }
    gate.wait(env, Elements(5), Elements(5));  // which has arrived, whatever became of the others
  });
  gate.came(Elements(0), Elements(10));
  gate.refuse();
  thread.join();
  EXPECT_TRUE(there && refused);
}

}  // namespace
}  // namespace shoal
