// Corrupt or foreign peers: each is lost or refused with a reason, and does no harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <limits>

#include "transport/shm/fake_peer.h"

namespace shoal::shm {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

Descriptor descriptor(Kind kind, std::uint64_t size, std::uint64_t at = 0, std::uint32_t region = 0,
                      std::uint64_t number = 1) {
  Descriptor d{};
  d.kind = kind;
  d.size = size;
  d.at = at;
  d.region = region;
  d.number = number;
  return d;
}

class ShmHostileTest : public ::testing::Test {
 protected:
  ShmOptions small() {
    ShmOptions options;
    options.slots = 8;
    options.stage_max = 1;
    return options;
  }
  LiveLoop loop;
  Station station{loop, life(1), small()};
};

TEST_F(ShmHostileTest, AFakeThatPlaysByTheRulesIsHeard) {
  FakeSender fake(loop, station, life(2));
  ASSERT_EQ(fake.greet().note.kind, NoteKind::Welcome);
  fake.lane->data()[lane_size(FakeSender::kSlots, 0) + 7] = std::byte{42};
  fake.publish(descriptor(Kind::Eager, 3, 7));
  const OwnMemory region("region", Bytes(8192));
  fake.announce(5, region.descriptor());
  fake.publish(descriptor(Kind::Window, 8000, 192, 5));
  run_until(loop, [&] { return station.arrivals == 2; });
  EXPECT_EQ(station.carrier().in_place(*station.parcels[0])->data[0], std::byte{42});
  EXPECT_EQ(station.parcels[1]->payload_size, 8000U);
  EXPECT_TRUE(station.losses.empty());
}

struct CorruptLane {
  const char* name;
  const char* why;
  std::function<void(FakeSender&)> act;
};
void PrintTo(const CorruptLane& c, std::ostream* out) { *out << c.name; }

class ShmCorruptLaneTest : public ShmHostileTest,
                           public ::testing::WithParamInterface<CorruptLane> {};

TEST_P(ShmCorruptLaneTest, IsLostWithAReasonAndTheOthersGoOn) {
  Station good(loop, life(3));
  good.connect(station);
  FakeSender fake(loop, station, life(2));
  ASSERT_EQ(fake.greet().note.kind, NoteKind::Welcome);
  GetParam().act(fake);
  EXPECT_THAT(fake.fate(), HasSubstr(GetParam().why));
  const std::uint64_t before = station.arrivals;
  good.send(station, pattern(10));
  run_until(loop, [&] { return station.arrivals == before + 1; });
}

void announce_good(FakeSender& fake) {
  const OwnMemory region("region", Bytes(8192));
  fake.announce(5, region.descriptor());
}

const CorruptLane kCorruptLanes[] = {
    {"TooManyPublished", "9 messages published, 0 taken, room for 8",
     [](FakeSender& f) { f.head().published.store(9); }},
    {"HugeCounter", "corrupt lane", [](FakeSender& f) { f.head().published.store(kHuge); }},
    {"CounterBackwards", "corrupt lane",
     [](FakeSender& f) {
       f.publish(descriptor(Kind::Eager, 1));
       f.head().published.store(kHuge - 3);
     }},
    {"UnknownKind", "kind 99",
     [](FakeSender& f) { f.publish(descriptor(static_cast<Kind>(99), 0)); }},
    {"KindZero", "kind 0", [](FakeSender& f) { f.publish(Descriptor{}); }},
    {"EagerTooLong", "1025 eager bytes",
     [](FakeSender& f) { f.publish(descriptor(Kind::Eager, 1025)); }},
    {"EagerOutside", "2 eager bytes at 1023",
     [](FakeSender& f) { f.publish(descriptor(Kind::Eager, 2, 1023)); }},
    {"EagerOverflow", "eager bytes",
     [](FakeSender& f) { f.publish(descriptor(Kind::Eager, 2, kHuge)); }},
    {"HugePayload", "more than the",
     [](FakeSender& f) { f.publish(descriptor(Kind::Offer, kHuge)); }},
    {"RegionNeverAnnounced", "region 5, which was not announced",
     [](FakeSender& f) { f.publish(descriptor(Kind::Window, 1, 0, 5)); }},
    {"OutsideTheRegion", "8193 bytes at 0 of region 5, which has 8192",
     [](FakeSender& f) {
       announce_good(f);
       f.publish(descriptor(Kind::Window, 8193, 0, 5));
     }},
    {"OverflowInTheRegion", "of region 5",
     [](FakeSender& f) {
       announce_good(f);
       f.publish(descriptor(Kind::Window, 2, kHuge, 5));
     }},
    {"RegionTwice", "region 5 is one too many",
     [](FakeSender& f) {
       announce_good(f);
       announce_good(f);
     }},
    {"RegionWithoutSeals", "seals",
     [](FakeSender& f) {
       const UniqueFd open_memory(memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING));
       ASSERT_EQ(ftruncate(open_memory.get(), 8192), 0);
       f.announce(5, open_memory.get());
       f.publish(descriptor(Kind::Window, 1, 0, 5));
     }},
    {"StagedButNotWanted", "was not wanted",
     [](FakeSender& f) { f.publish(descriptor(Kind::Staged, 1)); }},
    {"StagedBeforeWanted", "was not wanted",
     [](FakeSender& f) {
       announce_good(f);
       f.publish(descriptor(Kind::Offer, 100));
       f.publish(descriptor(Kind::Staged, 100, 0, 5));
     }},
    {"OfferedTwice", "offered twice",
     [](FakeSender& f) {
       f.publish(descriptor(Kind::Offer, 100));
       f.publish(descriptor(Kind::Offer, 100));
     }},
    {"NonsenseOnTheSocket", "not a note",
     [](FakeSender& f) { ASSERT_EQ(::send(f.socket.get(), "nonsense", 8, 0), 8); }},
    {"SecondHello", "out of turn",
     [](FakeSender& f) { ASSERT_EQ(send_note(f.socket, f.hello), Sent::Yes); }},
    {"AnotherVersion", "version 2",
     [](FakeSender& f) {
       Note note = f.hello;
       note.version = 2;
       ASSERT_EQ(send_note(f.socket, note), Sent::Yes);
     }},
};
INSTANTIATE_TEST_SUITE_P(All, ShmCorruptLaneTest, ::testing::ValuesIn(kCorruptLanes),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_F(ShmHostileTest, AnswersThatCannotHaveBeenTakenAreNoticed) {
  FakeSender fake(loop, station, life(2));
  ASSERT_EQ(fake.greet().note.kind, NoteKind::Welcome);
  fake.head().answers_taken.store(17);
  fake.publish(descriptor(Kind::Offer, 100));
  run_until(loop, [&] { return station.arrivals == 1; });
  station.release(*station.parcels[0]);
  EXPECT_THAT(fake.fate(), HasSubstr("17 answers taken of 0"));
}

// ---- greetings

TEST_F(ShmHostileTest, AGreetingOfTheWrongKindIsRefusedWithAReason) {
  const auto refused = [&](const std::function<void(FakeSender&)>& spoil) {
    FakeSender fake(loop, station, life(2));
    spoil(fake);
    const ReceivedNote answer = fake.greet();
    EXPECT_EQ(answer.note.kind, NoteKind::Refusal);
    return text_of(answer.note);
  };
  EXPECT_THAT(refused([](FakeSender& f) { f.hello.to_node = 7; }), HasSubstr("not node 7"));
  EXPECT_THAT(refused([](FakeSender& f) { f.hello.to_incarnation = 9; }), HasSubstr("life 9"));
  EXPECT_THAT(refused([](FakeSender& f) { f.hello.version = 9; }), HasSubstr("version 9"));
  EXPECT_THAT(refused([](FakeSender& f) { f.hello.kind = NoteKind::Gone; }),
              HasSubstr("the greeting is malformed"));
  EXPECT_THAT(refused([](FakeSender& f) { f.head().shape.slots = 7; }), HasSubstr("7 slots"));
  EXPECT_THAT(refused([](FakeSender& f) { f.head().shape.slots = 1024; }), HasSubstr("1024 slots"));
  EXPECT_THAT(refused([](FakeSender& f) { f.head().shape.eager_ring = 0; }), HasSubstr("0 eager"));
  EXPECT_THAT(refused([](FakeSender& f) { f.head().shape.magic = 0; }), HasSubstr("magic 0x0"));
  EXPECT_THAT(
      refused([](FakeSender& f) { f.lane = std::make_unique<OwnMemory>("tiny", Bytes(64)); }),
      HasSubstr("too small"));
  EXPECT_THAT(refused([](FakeSender& f) { f.bell = UniqueFd(dup(f.lane->descriptor())); }),
              HasSubstr("doorbell"));
  EXPECT_EQ(shm_stats(station.carrier()).refused, 10U);
  EXPECT_TRUE(station.losses.empty());
}

TEST_F(ShmHostileTest, AnotherKeyIsRefusedByEitherSide) {
  ShmOptions options;
  options.key = std::string(32, 'a');
  Station keyed(loop, life(2), options);
  station.connect(keyed);
  run_until(loop, [&] { return !station.losses.empty(); });
  EXPECT_THAT(station.losses[0].why, HasSubstr("key differs from ours"));
  EXPECT_EQ(shm_stats(keyed.carrier()).refused, 1U);
  EXPECT_TRUE(keyed.losses.empty());

  // A listener that accepts every peer must prove that it has the key, too.
  FakeReceiver fake(loop, keyed, life(3));
  const ReceivedNote hello = fake.hear_hello();
  ASSERT_EQ(hello.note.kind, NoteKind::Hello);
  fake.welcome(hello.note, std::string(32, 'b'));
  EXPECT_THAT(fake.fate(), HasSubstr("key differs from ours"));
}

TEST_F(ShmHostileTest, ASecondConnectionOfTheSameLifeIsRefused) {
  FakeSender first(loop, station, life(2));
  EXPECT_EQ(first.greet().note.kind, NoteKind::Welcome);
  FakeSender second(loop, station, life(2));
  EXPECT_THAT(text_of(second.greet().note), HasSubstr("connected already"));
}

TEST_F(ShmHostileTest, WhoConnectsAndSaysNothingDisturbsNobody) {
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(make_socket());
    ASSERT_EQ(connect_to(silent.back(), decode_address(station.carrier().contact())->socket), 0);
  }
  Station good(loop, life(3));
  good.connect(station);
  good.send(station, pattern(10));
  run_until(loop, [&] { return station.arrivals == 1; });
}

TEST_F(ShmHostileTest, NobodyAtTheContactIsALossAndNotAnError) {
  std::string contact;
  {
    Station gone(loop, life(4));
    contact = gone.carrier().contact();
  }
  station.carrier().connect(life(4), contact);
  const Station::Sending& sending = station.send(life(4), {});
  EXPECT_TRUE(station.losses.empty()) << "told from inside connect()";
  run_until(loop, [&] { return sending.done; });
  ASSERT_EQ(station.losses.size(), 1U);
  EXPECT_THAT(station.losses[0].why, HasSubstr("its process has ended"));
}

// ---- the other direction: answers of a receiver

class ShmCorruptAnswersTest : public ShmHostileTest {
 protected:
  void join() {
    fake = std::make_unique<FakeReceiver>(loop, station, life(2));
    const ReceivedNote hello = fake->hear_hello();
    ASSERT_EQ(hello.note.kind, NoteKind::Hello);
    lane = std::make_unique<PeerMemory>(hello.descriptors.at(0), "lane");
    fake->welcome(hello.note);
  }
  const LaneHead& head() const { return *reinterpret_cast<const LaneHead*>(lane->data()); }
  void until_published(std::uint64_t n) {
    run_until(loop, [&] { return head().published.load() == n; });
  }
  const std::vector<std::byte> large = pattern(20'000);
  std::unique_ptr<FakeReceiver> fake;
  std::unique_ptr<PeerMemory> lane;
};

TEST_F(ShmCorruptAnswersTest, TakenMoreThanPublished) {
  join();
  for (int i = 0; i < 9; ++i) station.send(life(2), {});
  until_published(8);
  fake->head().taken.store(9);
  EXPECT_THAT(fake->fate(), HasSubstr("taken 9 messages of 8"));
  run_until(loop, [&] { return station.sendings[8].done; });
  EXPECT_THAT(station.sendings[8].failure, HasSubstr("corrupt"));
}

TEST_F(ShmCorruptAnswersTest, MoreAnswersThanThereIsRoomFor) {
  join();
  station.send(life(2), const_buf(std::span(large)));
  until_published(1);
  fake->head().answered.store(9);
  EXPECT_THAT(fake->fate(), HasSubstr("9 given, 0 taken, room for 8"));
}

TEST_F(ShmCorruptAnswersTest, ReleasedWhatIsNotThere) {
  join();
  station.send(life(2), const_buf(std::span(large)));
  until_published(1);
  fake->answer(77U << 1U | kReleased);
  EXPECT_THAT(fake->fate(), HasSubstr("releases message 77"));
}

TEST_F(ShmCorruptAnswersTest, WantedWhatWasNotOffered) {
  join();
  station.send(life(2), const_buf(std::span(large)));
  until_published(1);
  fake->answer(1U << 1U | kWanted);
  EXPECT_THAT(fake->fate(), HasSubstr("wants message 1"));
}

TEST_F(ShmCorruptAnswersTest, WantedTwice) {
  join();
  station.send(life(2), const_buf(std::span(large)));
  const Station::Sending& offer = station.send(life(2), const_buf(std::span(large)));
  until_published(2);
  fake->answer(2U << 1U | kWanted);
  until_published(3);
  EXPECT_TRUE(offer.done && offer.failure.empty());
  fake->answer(2U << 1U | kWanted);
  EXPECT_THAT(fake->fate(), HasSubstr("wants message 2"));
}

TEST_F(ShmCorruptAnswersTest, AReceiverThatDoesNotReadItsSocketHoldsUpOnlyItself) {
  constexpr std::uint64_t kRegions = 500;
  ShmOptions options;
  options.slots = 1024;
  Station sender(loop, life(1), options);
  FakeReceiver slow(loop, sender, life(2));
  const ReceivedNote hello = slow.hear_hello();
  const PeerMemory memory(hello.descriptors.at(0), "lane");
  const auto& published = reinterpret_cast<const LaneHead*>(memory.data())->published;
  slow.welcome(hello.note);
  std::vector<std::shared_ptr<std::byte>> windows;
  for (std::uint64_t i = 0; i < kRegions; ++i) {
    windows.push_back(sender.carrier().allocate(Bytes(10'000)));
    sender.send(life(2), {windows.back().get(), Bytes(10'000)});
  }
  run_until(loop, [&] { return published.load() > 0; });
  run_turns(loop);
  EXPECT_LT(published.load(), kRegions) << "its socket took all the announcements";

  std::uint64_t regions = 0;
  run_until(loop, [&] {
    for (ReceivedNote note = receive_note(slow.socket); note.got == Got::Note;
         note = receive_note(slow.socket))
      EXPECT_EQ(note.note.region, ++regions) << "announced in order, each once";
    return regions == kRegions && published.load() == kRegions;
  });
  EXPECT_TRUE(sender.losses.empty());
}

TEST_F(ShmCorruptAnswersTest, AnswersThatCannotBeOnes) {
  const auto fate = [&](const std::function<void(FakeReceiver&)>& spoil) {
    Station sender(loop, life(1));
    FakeReceiver receiver(loop, sender, life(2));
    spoil(receiver);
    const ReceivedNote hello = receiver.hear_hello();
    if (hello.got == Got::Note) receiver.welcome(hello.note);
    return receiver.fate();
  };
  EXPECT_THAT(fate([](FakeReceiver& f) { f.head().shape.slots = 5; }), HasSubstr("5 slots"));
  EXPECT_THAT(fate([](FakeReceiver& f) { f.head().shape.slots = 4096; }), HasSubstr("4096 slots"));
  EXPECT_THAT(fate([](FakeReceiver& f) { f.head().shape.version = 5; }), HasSubstr("version 5"));
  EXPECT_THAT(fate([](FakeReceiver& f) { f.descriptors = 0; }), HasSubstr("corrupt greeting"));
  EXPECT_THAT(
      fate([](FakeReceiver& f) { f.answers = std::make_unique<OwnMemory>("tiny", Bytes(8)); }),
      HasSubstr("too small"));
  EXPECT_THAT(fate([](FakeReceiver& f) { f.challenge.from_node = 8; }), HasSubstr("node 8"));
  EXPECT_THAT(fate([](FakeReceiver& f) { f.challenge.version = 8; }), HasSubstr("version 8"));
  EXPECT_THAT(fate([](FakeReceiver& f) { f.challenge.kind = NoteKind::Region; }),
              HasSubstr("out of turn"));
}

}  // namespace
}  // namespace shoal::shm
