// SumOp over an endpoint that gives access to each message in place.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "collective/reduce.h"
#include "runtime/executor.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

// A receive ends at once, with the test's message; a send ends when the test says so.
class ShowingEndpoint final : public Endpoint {
 public:
  NodeId self() const override { return NodeId(0); }
  Task<void> retire(GroupId, Generation) override { co_return; }

  ConstBuf message;
  bool sends_end = true;
  SendOp* sending = nullptr;
  bool taken = false;

 private:
  void start_send(SendOp& op) override {
    if (sends_end) return op.sent();
    sending = &op;
  }
  void abort_send(SendOp&) override {}
  void start_recv(RecvOp& op) override {
    taken = op.take_in(message);
    if (!taken) copy(message, op.room);
    op.received({NodeId(1), op.match.tag.id, message.size});
  }
  void abort_recv(RecvOp&) override {}
};

class SumOpTest : public testing::Test {
 protected:
  SumOpTest() : mine_(kElements, Substance::Real), out_(kElements, Substance::Real) {
    std::iota(theirs_.begin(), theirs_.end(), 1000.0F);
    std::iota(mine_.data(), mine_.data() + kElements.value(), 1.0F);
    show(theirs_.data(), kElements);
  }
  void show(const float* at, Elements n) {
    endpoint_.message = {reinterpret_cast<const std::byte*>(at), Bytes(n.value() * sizeof(float))};
  }
  // Returns whether the sum was formed during the receive; the send begins first, as in an
  // exchange.
  bool exchange(Range mine, Range out) {
    bool summed = false;
    Context context;
    context.executor = &executor_;
    TaskGroup group(context);
    const auto run = [](SumOpTest& t, Range m, Range o, bool& s) -> Task<void> {
      const auto done = co_await all(t.endpoint_.send(NodeId(1), Tag{}, m.bytes()),
                                     SumOp(t.endpoint_, Match{}, t.room_.all(), m, o));
      s = std::get<1>(done).summed;
    };
    group.spawn(run(*this, mine, out, summed));
    executor_.run_ready();
    if (endpoint_.sending != nullptr) endpoint_.sending->sent();
    executor_.run_ready();
    EXPECT_EQ(group.running(), 0U);
    EXPECT_EQ(summed, endpoint_.taken);
    return summed;
  }

  static constexpr Elements kElements{100};
  Executor executor_;
  ShowingEndpoint endpoint_;
  std::vector<float> theirs_ = std::vector<float>(kElements.value() + 1);
  Arena mine_;
  Arena out_;
  Arena room_{kElements, Substance::Real};
};

TEST_F(SumOpTest, AddsWhatItIsShown) {
  ASSERT_TRUE(exchange(mine_.all(), out_.all()));
  for (std::uint64_t i = 0; i < kElements.value(); ++i)
    ASSERT_EQ(out_.data()[i], 1001.0F + 2.0F * static_cast<float>(i));
  EXPECT_EQ(room_.data()[0], 0.0F);
}

TEST_F(SumOpTest, AddsInPlaceOnceNobodyReadsItAnyMore) {
  ASSERT_TRUE(exchange(mine_.all(), mine_.all()));
  EXPECT_EQ(mine_.data()[1], 1003.0F);
}

TEST_F(SumOpTest, LeavesWhatIsStillBeingSent) {
  endpoint_.sends_end = false;
  EXPECT_FALSE(exchange(mine_.all(), mine_.all()));
  EXPECT_EQ(mine_.data()[1], 2.0F);
  EXPECT_EQ(room_.data()[1], 1001.0F);
}

TEST_F(SumOpTest, AddsToAnotherPlaceWhileItIsBeingSent) {
  endpoint_.sends_end = false;
  EXPECT_TRUE(exchange(mine_.all(), out_.all()));
  EXPECT_EQ(out_.data()[1], 1003.0F);
}

TEST_F(SumOpTest, LeavesMessagesOfAnotherSizeAndOnesThatAreNoNumbers) {
  show(theirs_.data(), Elements(99));
  EXPECT_FALSE(exchange(mine_.all(), out_.all()));
  std::array<std::byte, kElements.value() * sizeof(float) + 1> odd{};
  endpoint_.message = {odd.data() + 1, Bytes(kElements.value() * sizeof(float))};
  if (reinterpret_cast<std::uintptr_t>(odd.data()) % alignof(float) == 3)
    endpoint_.message.data = odd.data();
  EXPECT_FALSE(exchange(mine_.all(), out_.all()));
  EXPECT_EQ(out_.data()[1], 0.0F);
}

}  // namespace
}  // namespace shoal
