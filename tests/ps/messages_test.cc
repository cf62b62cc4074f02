#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "ps/records.h"
#include "ps/requests.h"

namespace shoal {
namespace {

constexpr NodeId kSender{3};

// The results of a receiver for the bytes of a frame.
template <class List, std::size_t size>
List received(const MessageFrame<List, size>& sent) {
  MessageFrame<List, size> frame;
  const MutBuf room = frame.room();
  std::memcpy(room.data, sent.bytes().data, size);
  return frame.message(kSender);
}

TEST(Messages, ARequestArrivesAsTheKindThatWasSent) {
  PushSumRequest request;
  request.header.number = 7;
  request.round = {5, {1, 20, 6}};
  request.of = {2, 4};
  RequestFrame frame;
  frame.put(AnyRequest(request));
  const AnyRequest any = received(frame);
  const auto* const there = std::get_if<PushSumRequest>(&any);
  ASSERT_NE(there, nullptr);
  EXPECT_EQ(there->header.number, 7U);
  EXPECT_EQ(there->round.samples, request.round.samples);
  EXPECT_EQ(there->of, request.of);
}

template <class... All>
void expect_each_kind(const std::variant<All...>*) {
  const auto expect = []<class Record>(Record record) {
    record.header.sequence = 9;
    RecordFrame frame;
    frame.put(AnyRecord(record));
    const AnyRecord any = received(frame);
    EXPECT_TRUE(std::holds_alternative<Record>(any)) << any.index();
    EXPECT_EQ(header_of(any).sequence, 9U);
  };
  (expect(All()), ...);
}
TEST(Messages, EveryRecordArrivesAsItsKind) {
  expect_each_kind(static_cast<const AnyRecord*>(nullptr));
}

TEST(Messages, AKindThatIsNotInTheListIsCorrupt) {
  RequestFrame frame;
  EnterRequest request;
  request.header.kind = std::variant_size_v<AnyRequest>;
  frame.put(request);
  EXPECT_THROW(frame.message(kSender), Corrupt);
}

TEST(Messages, OnlyAGradientThatIsSentComesWithARequest) {
  TrainRequest request;
  EXPECT_FALSE(attachment_of(request).sent()) << "nothing is pushed";
  request.push.samples = 4;
  EXPECT_TRUE(attachment_of(request).sent());
  request.push.form.kind = GradientForm::Kind::Nothing;
  EXPECT_TRUE(attachment_of(request).gradient);
  EXPECT_FALSE(attachment_of(request).sent()) << "a gradient of 0";
  EndOfEpochRequest done;
  EXPECT_FALSE(attachment_of(done).sent());
  done.done = EndOfEpochTask::SendBuffers;
  EXPECT_TRUE(attachment_of(done).buffers);
}

}  // namespace
}  // namespace shoal
