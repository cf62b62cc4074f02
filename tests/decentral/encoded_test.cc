// Models that meet as encoded differences, and encoded streams of gradients.
#include <gtest/gtest.h>

#include "decentral/decentral_job.h"
#include "encoded/message.h"

namespace shoal {
namespace {

constexpr std::uint64_t kElements = 400;

DecentralJob encoded(const char* system, const char* encode) {
  DecentralJob job = DecentralJob::like(system);
  parse_encode(encode, job.recipe.encode);
  job.problem.dimensions = Elements(kElements);
  job.task.samples = 960;
  return job;
}

// Counts messages of one size.
class Count final : public Observer {
 public:
  explicit Count(std::uint64_t size) : size_(size) {}
  void on(const Event& e) override {
    if (e.kind == EventKind::SendPosted && e.b == size_) ++messages;
  }
  std::uint64_t messages = 0;

 private:
  std::uint64_t size_;
};

std::uint64_t message_size(const char* encode) {
  const QuadraticLearner learner({.seed = kDecentralSeed, .dimensions = Elements(kElements)});
  const MessageForm form(learner.pieces(), parse_encoding(encode));
  return form.expected({Elements(0), Elements(kElements)}).value();
}

void run_counting(DecentralJob& job, std::size_t workers, Count& count) {
  Recorder recorder;
  recorder.observe(count);
  World world(DecentralJob::cluster(workers), {.seed = kDecentralSeed, .recorder = &recorder});
  job.run(world, workers);
}

// ---- The mean of all

TEST(EncodedMean, WhatIsLosslessIsTheMean) {
  for (const char* const system : {"sparknet", "bmuf", "diloco"})
    for (const std::size_t P : {1U, 2U, 4U}) {
      DecentralJob plain = encoded(system, "fp32"), packed = encoded(system, "fp32+zstd");
      plain.set("local-steps", 5);
      packed.set("local-steps", 5);
      plain.run(P);
      packed.run(P);
      for (std::uint32_t r = 0; r < P; ++r)
        DecentralJob::expect_near(packed.models[NodeId(r)], plain.models[NodeId(r)], 1e-4);
    }
}

TEST(EncodedMean, AfterTheFirstMeetingOnlyDifferencesAreSent) {
  DecentralJob job = encoded("sparknet", "fp16");
  job.set("local-steps", 2);
  Count count(message_size("fp16"));
  run_counting(job, 2, count);
  // 80 steps: 40 meetings, the first of which sends whole models.
  EXPECT_EQ(count.messages, 39U * 2);
}

TEST(EncodedMean, ConvergesAndSendsLess) {
  for (const char* const system : {"sparknet", "bmuf"})
    for (const std::size_t P : {2U, 4U}) {
      DecentralJob plain = encoded(system, "fp32");
      plain.set("local-steps", 2);
      plain.run(P);
      for (const char* const encode : {"topk:0.1+ef", "onebit+ef", "qsgd:16"}) {
        DecentralJob job = encoded(system, encode);
        job.set("local-steps", 2);
        job.run(P);
        EXPECT_EQ(job.results[NodeId(0)], job.results[NodeId(1)]);
        EXPECT_LT(job.loss(job.results[NodeId(0)]), 0.15 * job.loss(job.initial(1)[0]))
            << system << ", " << encode << ", " << P << " workers";
        EXPECT_LT(job.sent[NodeId(1)], plain.sent[NodeId(1)]);
      }
    }
}

TEST(EncodedMean, LateMeetingsKeepTheStepsInBetween) {
  const auto loss = [](const char* encode) {
    DecentralJob job = encoded("sparknet", encode);
    job.set("local-steps", 4);
    job.set("overlap-steps", 2);
    job.run(3);
    return job.loss(job.results[NodeId(0)]);
  };
  EXPECT_NEAR(loss("fp32+zstd"), loss("fp32"), 1e-3);
  EXPECT_LT(loss("onebit+ef"), 1.5 * loss("fp32"));
}

// ---- Neighbours

TEST(Choco, WithALosslessEncodingIsDPsgd) {
  DecentralJob plain = encoded("d-psgd", "fp32"), packed = encoded("d-psgd", "fp32+zstd");
  plain.run(5);
  packed.run(5);
  for (std::uint32_t r = 0; r < 5; ++r)
    DecentralJob::expect_near(packed.models[NodeId(r)], plain.models[NodeId(r)], 1e-4);
}

TEST(Choco, WhateverIsLeftOutTheMeanStaysAndModelsComeTogether) {
  for (const char* const encode : {"fp16", "topk:0.1", "onebit+ef"}) {
    DecentralJob job = encoded("d-psgd", encode);
    job.run_then_rest(6);
    const double apart = job.spread();
    Models all;
    for (const auto& [node, w] : job.models) all.push_back(w);
    const std::vector<float> mean = DecentralJob::mean(all);
    job.rest_on(6);
    EXPECT_LT(job.spread(), 0.2 * apart) << encode;
    DecentralJob::expect_near(job.results[NodeId(0)], mean, 1e-4);
  }
}

TEST(Choco, ConvergesAndSendsLess) {
  DecentralJob plain = encoded("d-psgd", "fp32");
  plain.run(6);
  for (const char* const encode : {"topk:0.1", "onebit"}) {
    DecentralJob job = encoded("d-psgd", encode);
    job.run(6);
    EXPECT_LT(job.loss(job.results[NodeId(0)]), 1.05 * plain.loss(plain.results[NodeId(0)]))
        << encode;
    EXPECT_LT(job.sent[NodeId(1)].value(), plain.sent[NodeId(1)].value() / 2) << encode;
  }
}

// ---- Streams of gradients

TEST(Dl4jStrom, EveryoneMovesByWhatIsSentSoThatModelsAreAlikeAtTheEnd) {
  DecentralJob job = encoded("dl4j-strom", "strom:0.3"), whole = encoded("dogwild", "fp32");
  job.task.epochs = whole.task.epochs = 3;
  job.run(4);
  whole.run(4);
  EXPECT_LT(job.loss(job.results[NodeId(0)]), 1.5 * whole.loss(whole.results[NodeId(0)]) + 1);
  EXPECT_LT(job.spread(), 1e-6);
}

TEST(Dl4jStrom, SendsFewerBytesThanDogwild) {
  DecentralJob whole = encoded("dogwild", "fp32"), signs = encoded("dl4j-strom", "strom:0.1");
  whole.run(4);
  signs.run(4);
  EXPECT_LT(signs.sent[NodeId(1)].value(), whole.sent[NodeId(1)].value() / 2);
}

TEST(Dl4jStrom, AloneItIsSequential) {
  DecentralJob alone = encoded("dl4j-strom", "strom:0.1"), plain = encoded("dogwild", "fp32");
  alone.run(1);
  plain.run(1);
  EXPECT_EQ(alone.results, plain.results);
}

}  // namespace
}  // namespace shoal
