// WireEndpoint over a carrier that the test plays: input that is wrong, late or repeated.
#include "transport/wire/wire_endpoint.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/error.h"
#include "runtime/live/live_env.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr LifeId kSelf{NodeId(0), Incarnation(1)};
constexpr LifeId kPeer{NodeId(1), Incarnation(1)};

// Records messages that are sent, and delivers those that the test provides.
class PlayedCarrier final : public Carrier {
 public:
  const char* name() const override { return "played"; }
  std::string contact() const override { return "here"; }
  bool reaches(const std::string& contact) const override { return contact == "here"; }
  void open(LifeId, Sink& its) override { sink = &its; }
  void connect(LifeId peer, const std::string&) override { connected.push_back(peer); }
  void close(LifeId peer) override { closed.push_back(peer); }
  bool send(Flight& flight) override {
    headers.push_back(decode_header(flight.header, flight.to.node));
    return true;
  }
  bool fetch(Parcel& parcel, MutBuf room) override {
    copy(*in_place(parcel), room);
    return true;
  }
  bool stop(Parcel&) override { return true; }
  std::optional<ConstBuf> in_place(Parcel& parcel) override {
    const Played& p = static_cast<const Played&>(parcel);
    return ConstBuf{p.payload.data(), Bytes(p.payload.size())};
  }
  std::optional<ConstBuf> glance(const Parcel& parcel) const override {
    const Played& p = static_cast<const Played&>(parcel);
    if (!shows) return std::nullopt;
    return ConstBuf{p.payload.data(), Bytes(p.payload.size())};
  }
  void release(Parcel& parcel) override {
    ++released;
    delete &parcel;
  }

  void bring(HeaderBytes header, std::size_t size, std::optional<LifeId> sender = kPeer) {
    auto parcel = std::make_unique<Played>();
    parcel->frame = header;
    parcel->payload.assign(size, std::byte{7});
    parcel->header = parcel->frame;
    parcel->payload_size = size;
    parcel->sender = sender;
    parcel->carrier = this;
    ++brought;
    sink->arrived(*parcel.release());
  }

  Sink* sink = nullptr;
  std::vector<LifeId> connected, closed;
  std::vector<Header> headers;
  int brought = 0;
  int released = 0;
  bool shows = false;  // payloads in place

 private:
  struct Played final : Parcel {
    HeaderBytes frame{};
    std::vector<std::byte> payload;
  };
};

class Everyone final : public PeerDirectory {
 public:
  std::optional<Listing> find(NodeId node, Incarnation incarnation) const override {
    Listing listing;
    listing.life = {node, incarnation == Incarnation(0) ? Incarnation(1) : incarnation};
    listing.ways = {{"played", "here"}};
    if (node == NodeId(3)) listing.ways = {{"pigeon", "roof"}};
    return listing;
  }
};

class WireEndpointTest : public testing::Test {
 public:
  WireEndpointTest() : env(loop, {.node = kSelf.node, .incarnation = kSelf.incarnation}) {
    auto made = std::make_unique<PlayedCarrier>();
    carrier = made.get();
    Carriers carriers;
    carriers.push_back(std::move(made));
    endpoint = std::make_unique<WireEndpoint>(loop, env, kSelf, std::move(carriers), everyone);
  }
  ~WireEndpointTest() override {
    endpoint->die("the test is over", [] {});
  }
  static Header header(std::uint64_t sequence, std::uint64_t id, std::size_t size) {
    Header h;
    h.source = kPeer.node;
    h.incarnation = kPeer.incarnation;
    h.target = kSelf.node;
    h.target_incarnation = kSelf.incarnation;
    h.tag.group = GroupId(1);
    h.tag.id = id;
    h.sequence = sequence;
    h.size = Bytes(size);
    return h;
  }
  static Match match(std::uint64_t id) {
    Match m;
    m.from = kPeer.node;
    m.tag.group = GroupId(1);
    m.tag.id = id;
    return m;
  }
  // The error of a receive from the peer; "" if it receives.
  std::string receive(std::uint64_t id) {
    std::string error;
    std::array<std::byte, 64> room{};
    run_task(
        loop,
        [](WireEndpointTest& t, std::uint64_t which, MutBuf into, std::string& e) -> Task<void> {
          try {
            co_await t.endpoint->recv(match(which), into);
          } catch (const Error& failure) {
            e = failure.what();
          }
        }(*this, id, mut_buf(room), error));
    return error;
  }

  LiveLoop loop;
  LiveEnv env;
  Everyone everyone;
  PlayedCarrier* carrier = nullptr;
  std::unique_ptr<WireEndpoint> endpoint;
};

TEST_F(WireEndpointTest, MessagesAreTakenInTheOrderTheyWereSentHoweverTheyCome) {
  std::array<std::byte, 64> room{};
  carrier->bring(encode_header(header(2, 5, 3)), 3);
  carrier->bring(encode_header(header(1, 5, 2)), 2);
  carrier->bring(encode_header(header(0, 5, 1)), 1);
  run_task(loop, [](WireEndpointTest& t, MutBuf into) -> Task<void> {
    for (std::uint64_t size = 1; size <= 3; ++size) {
      const Received r = co_await t.endpoint->recv(match(5), into);
      EXPECT_EQ(r.size, Bytes(size));
    }
  }(*this, mut_buf(room)));
  EXPECT_EQ(carrier->released, 3);
}

// Takes messages of one size directly from the receive buffer.
class TakingOp final : public RecvOp {
 public:
  using RecvOp::RecvOp;
  TakingOp(TakingOp&&) = default;
  ~TakingOp() override { detach(); }
  bool take_in(ConstBuf payload) override {
    ++asked;
    return payload.size == Bytes(2);
  }
  static inline int asked = 0;
};

TEST_F(WireEndpointTest, AMessageThatWasTakenInWhereItLayIsNotCopied) {
  TakingOp::asked = 0;
  std::array<std::byte, 64> room{};
  const auto receive_one = [](WireEndpointTest& t, MutBuf into) -> Task<void> {
    co_await TakingOp(*t.endpoint, match(5), into);
  };
  const auto receive_one_copied = [&](std::uint64_t sequence, std::size_t size) {
    room.fill(std::byte{0});
    carrier->bring(encode_header(header(sequence, 5, size)), size);
    run_task(loop, receive_one(*this, mut_buf(room)));
    return room[0] == std::byte{7};
  };
  EXPECT_TRUE(receive_one_copied(0, 2)) << "the carrier does not show it";
  EXPECT_EQ(TakingOp::asked, 0);
  carrier->shows = true;
  EXPECT_FALSE(receive_one_copied(1, 2));
  EXPECT_TRUE(receive_one_copied(2, 3)) << "it was not taken in";
  EXPECT_EQ(TakingOp::asked, 2);
  EXPECT_EQ(carrier->released, 3);
}

TEST_F(WireEndpointTest, AMessageThatComesTwiceCostsThePeerItsConnection) {
  testing::internal::CaptureStderr();
  carrier->bring(encode_header(header(0, 5, 1)), 1);
  carrier->bring(encode_header(header(0, 5, 1)), 1);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("number 0 is repeated, expected 1"), std::string::npos) << said;
  EXPECT_EQ(receive(5), "") << "what came before it can be received";
  EXPECT_NE(receive(5).find("lost node 1"), std::string::npos);
}

TEST_F(WireEndpointTest, WhatIsNoHeaderOrClaimsToBeAnotherIsRefusedByName) {
  struct Case {
    const char* says;
    Header of;
    std::size_t size;
  };
  Header liar = header(0, 5, 1);
  liar.source = NodeId(2);
  const std::vector<Case> cases = {
      {"claims to be from node 2.1, but the connection is that of 1.1", liar, 1},
      {"its header promises 1 bytes, 2 came", header(0, 5, 1), 2}};
  for (const Case& c : cases) {
    testing::internal::CaptureStderr();
    carrier->bring(encode_header(c.of), c.size);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(c.says), std::string::npos) << said;
  }
  HeaderBytes damaged = encode_header(header(0, 5, 1));
  damaged[20] ^= std::byte{1};
  testing::internal::CaptureStderr();
  carrier->bring(damaged, 1);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("message from node 1: header checksum"), std::string::npos) << said;
  EXPECT_EQ(carrier->released, carrier->brought) << "nothing is kept of it";
  EXPECT_NE(receive(5).find("lost node 1"), std::string::npos);
}

TEST_F(WireEndpointTest, AMessageForAnotherLifeIsDroppedAndNobodyIsBlamed) {
  Header stale = header(0, 5, 1);
  stale.target_incarnation = Incarnation(7);
  carrier->bring(encode_header(stale), 1);
  EXPECT_EQ(carrier->released, 1);
  carrier->bring(encode_header(header(0, 5, 1)), 1);
  EXPECT_EQ(receive(5), "");
}

TEST_F(WireEndpointTest, APeerThatNoTransportReachesIsLostAndItsOffersAreNamed) {
  std::string error;
  run_task(loop, [](WireEndpointTest& t, std::string& e) -> Task<void> {
    Tag tag;
    tag.group = GroupId(1);
    try {
      co_await t.endpoint->send(NodeId(3), tag, ConstBuf{});
    } catch (const PeerLost& lost) {
      e = lost.what();
    }
  }(*this, error));
  EXPECT_EQ(error, "lost node 3: no transport reaches it; it offers pigeon");
}

TEST_F(WireEndpointTest, AQuestionIsAnsweredWithTheSituation) {
  endpoint->on_question([] { return std::string("counting"); });
  Header question = header(0, 1, 0);
  question.tag.group = kNoteGroup;
  carrier->bring(encode_header(question), 0);
  ASSERT_EQ(carrier->headers.size(), 1U);
  EXPECT_EQ(carrier->headers[0].tag.group, kNoteGroup);
  EXPECT_EQ(carrier->headers[0].size, Bytes(8));
}

TEST_F(WireEndpointTest, ACarrierThatBreaksFencesTheNode) {
  std::string why;
  endpoint->on_fenced([&](const std::string& w) { why = w; });
  carrier->sink->broken("it is on fire");
  EXPECT_EQ(why, "it is on fire");
  EXPECT_EQ(receive(5), "it is on fire");
}

TEST(Ways, ComeBackFromTextAndNonsenseIsRefused) {
  const Ways ways = {{"shm", std::string("\x00\x01\xff", 3)}, {"ucx", ""}};
  EXPECT_EQ(decode_ways(encode_ways(ways)), ways);
  EXPECT_EQ(decode_ways(""), Ways());
  for (const char* text : {"shm", "=00", "shm=0", "shm=0g", "shm=00,shm=00"})
    EXPECT_THROW(decode_ways(text), Corrupt) << text;
}

}  // namespace
}  // namespace shoal
