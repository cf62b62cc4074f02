#include "transport/ucx/ucx_carrier.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/live/loop.h"
#include "transport/ucx/ucx_info.h"

namespace shoal {
namespace {

// One end of a connection, driven by hand, so that one end can stand still while the other runs.
class End final : Carrier::Sink {
 public:
  explicit End(std::uint32_t node)
      : id{NodeId(node), Incarnation(1)}, carrier_(make_ucx_carrier(loop_, {})) {
    carrier_->open(id, *this);
  }

  const LifeId id;
  int came = 0;
  int went = 0;  // sent, or failed
  bool is_broken = false;

  void connect(const End& other) { carrier_->connect(other.id, other.carrier_->contact()); }
  void close(const End& other) { carrier_->close(other.id); }
  void send(const End& to, Bytes size) {
    Flight& flight = *flights_.emplace_back(std::make_unique<Flight>());
    flight.to = to.id;
    flight.payload = {room(size), size};
    if (carrier_->send(flight)) ++went;
  }
  int sends() const { return static_cast<int>(flights_.size()); }
  void turn(int times = 1) {
    for (; times > 0; --times) {
      loop_.defer([this] { loop_.stop(); });
      loop_.run();
    }
  }

 private:
  const std::byte* room(Bytes size) {
    if (payload_.size() < size.value()) payload_.resize(size.value());
    return payload_.data();
  }
  void arrived(Parcel& parcel) override {
    ++came;
    carrier_->release(parcel);
  }
  void sent(Flight&) override { ++went; }
  void failed(Flight&, const std::string&) override { ++went; }
  void fetched(Parcel&, const std::string&) override {}
  void lost(LifeId, const std::string&) override {}
  void broken(const std::string&) override { is_broken = true; }

  LiveLoop loop_;
  std::vector<std::byte> payload_ = std::vector<std::byte>(1U << 19U);
  std::deque<std::unique_ptr<Flight>> flights_;
  std::unique_ptr<Carrier> carrier_;
};

// The two are connected when each has received from the other.
void introduce(End& a, End& b) {
  a.connect(b);
  b.connect(a);
  a.send(b, Bytes(100));
  b.send(a, Bytes(100));
  for (int i = 0; i < 10'000 && (a.came == 0 || b.came == 0); ++i) {
    a.turn();
    b.turn();
  }
  ASSERT_EQ(a.came, 1);
  ASSERT_EQ(b.came, 1);
}

// A cut link causes this: half of a message is in the socket when its sender closes, and the peer
// closes in turn once it has read that half.
TEST(UcxCarrier, APeerThatClosesAConnectionThatWasClosedInTheMiddleOfAMessageCrashedUs) {
  if (!ucx_info().built_in) {
    EXPECT_THROW(End(0), ConfigError);
    return;
  }
  End a(0);
  End b(1);
  introduce(a, b);
  for (int i = 0; i < 64; ++i) a.send(b, Bytes(500'000));
  a.turn(20);
  ASSERT_LT(a.went, a.sends()) << "the socket took it all";
  a.close(b);
  a.turn(20);
  b.turn(20);
  b.close(a);
  b.turn(20);
  a.turn(20);
  EXPECT_EQ(a.went, a.sends());
  EXPECT_FALSE(a.is_broken);
  EXPECT_FALSE(b.is_broken);

  End c(2);  // It still communicates with others.
  a.came = 0;
  introduce(a, c);
}

}  // namespace
}  // namespace shoal
