#include "train/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "sim/sim_files.h"
#include "support/files_text.h"
#include "support/hooked_files.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr NodeId kNode{0};

Time at(Duration since_start) { return Time(since_start); }

struct World {
  explicit World(Seed seed = Seed(1)) : disk(seed) {}
  std::string text(std::string path) { return read_text(files, std::move(path)); }
  InlineEnv env;
  SimDisk disk;
  SimFiles files{disk, env, kNode};
};

// ---- streamed files

TEST(StreamedFile, WaitsForASecondOr64KiB) {
  World w;
  StreamedFile file(w.files, "run/log", StreamedFile::Kind::Lines);
  run(file.add("a\n", at(5s)));
  run(file.add("b\n", at(5999ms)));
  EXPECT_THAT(run(w.files.list("run")), testing::IsEmpty());
  run(file.add("c\n", at(6s)));
  EXPECT_EQ(w.text("run/log"), "a\nb\nc\n");
  const std::string large = std::string(std::size_t{65} * 1024, 'x') + "\n";
  run(file.add(large, at(6s)));
  EXPECT_EQ(w.text("run/log"), "a\nb\nc\n" + large);
  run(file.add("d\n", at(6s)));
  run(file.close());
  EXPECT_EQ(w.text("run/log"), "a\nb\nc\n" + large + "d\n");
}

TEST(StreamedFile, ALaterLifeBeginsOnALineOfItsOwn) {
  World w;
  write_text(w.files, "log", "whole\nha");
  StreamedFile torn(w.files, "log", StreamedFile::Kind::Lines);
  run(torn.add("next\n", at(0s)));
  run(torn.close());
  EXPECT_EQ(w.text("log"), "whole\nha\nnext\n");
  StreamedFile whole(w.files, "log", StreamedFile::Kind::Lines);
  run(whole.add("last\n", at(0s)));
  run(whole.close());
  EXPECT_EQ(w.text("log"), "whole\nha\nnext\nlast\n");
}

TEST(StreamedFile, AfterAFailureTheNextLineIsWhole) {
  World w;
  StreamedFile file(w.files, "log", StreamedFile::Kind::Lines);
  run(file.add("first\n", at(0s)));
  run(file.flush());
  w.disk.limit_capacity(w.disk.used() + Bytes(3));
  run(file.add("second\n", at(0s)));
  EXPECT_THAT(error_of(file.flush()), HasSubstr("no space left"));
  w.disk.limit_capacity(Bytes(1'000'000));
  run(file.add("third\n", at(0s)));
  run(file.close());
  EXPECT_EQ(w.text("log"), "first\nsec\nthird\n");
}

TEST(StreamedFile, WhateverCrashesWhenAllLinesButTheLastAreWhole) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    World w{Seed(seed)};
    StreamedFile file(w.files, "log", StreamedFile::Kind::Lines);
    run(file.add("synced\n", at(0s)));
    run(file.close());
    run(w.files.sync(""));
    for (int i = 0; i < 5; ++i) {
      run(file.add("line\n", at(0s)));
      run(file.flush());
    }
    w.disk.crash(kNode);
    std::string text = w.text("log");
    ASSERT_TRUE(text.starts_with("synced\n"));
    text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
    const std::string all = "synced\nline\nline\nline\nline\nline\n";
    EXPECT_EQ(all.substr(0, text.size()), text);
  }
}

// ---- metrics

TEST(Metrics, ALineIsJsonWithNullForWhatIsUnknown) {
  StepMetrics m;
  m.node = NodeId(3);
  m.step = Step(120);
  m.view = Generation(4);
  m.epoch = 2;
  m.time = at(1500ms);
  m.loss = static_cast<double>(0.1F);
  m.eta = 1e-5;
  m.samples = 64;
  m.compute_s = 0.25;
  m.wait_s = std::numeric_limits<double>::infinity();
  m.update_s = 0.125;
  m.bytes_sent = Bytes(1'000'000'000'000);
  EXPECT_EQ(
      to_json_line(m),
      R"({"node":3,"step":120,"view":4,"epoch":2,"time_s":1.500000,"loss":0.1,"accuracy":null,)"
      R"("eta":1e-05,"samples":64,"compute_s":0.25,"overlap_s":0,"wait_s":null,)"
      R"("update_s":0.125,"bytes_sent":1000000000000,"staleness":null})"
      "\n");
}

TEST(Metrics, TextBecomesAStringOfJson) {
  EXPECT_EQ(json_string("plain é"), "\"plain é\"");
  EXPECT_EQ(json_string("\"\\\n\x01"), R"("\"\\\u000a\u0001")");
  EXPECT_EQ(json_string("a\xff\xe9z"), R"("a\ufffd\ufffdz")");
  EXPECT_EQ(json_string("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")") << "a surrogate";
  EXPECT_EQ(json_string("\xc3"), R"("\ufffd")") << "cut off";
}

// ---- TensorBoard

TEST(Tfevents, ChecksumsEqualTheStandardsExamples) {
  // RFC 3720, appendix B.4, and the usual check value.
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc32c(rising), 0x46DD794EU);
  EXPECT_EQ(crc32c(""), 0U);
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

TEST(Tfevents, RecordsEqualThoseWrittenByHand) {
  // 1: double 1.0; 3: "brain.Event:2". Its checksums are those of TensorFlow's own files.
  const std::string start = tfevents_start(1.0);
  EXPECT_EQ(hex(start.substr(0, 8)), "1800000000000000");
  EXPECT_EQ(hex(start.substr(8, 4)), "a37f4b22") << "as in every file that TensorFlow has begun";
  EXPECT_EQ(hex(start.substr(12, 24)), "09000000000000f03f1a0d627261696e2e4576656e743a32");
  EXPECT_EQ(start.size(), 8U + 4 + 24 + 4);

  const std::vector<Scalar> scalars = {{"a", 2.0F}};
  const std::string record = tfevents_record(1.0, Step(300), scalars);
  EXPECT_EQ(hex(record.substr(0, 8)), "1800000000000000");
  EXPECT_EQ(hex(record.substr(12, 24)),
            "09000000000000f03f"  // 1: wall_time, 1.0
            "10ac02"              // 2: step, 300
            "2a0a"                // 5: summary, 10 bytes
            "0a080a0161"          // 1: value, 8 bytes; 1: tag, "a"
            "1500000040");        // 2: simple_value, 2.0
}

TEST(Tfevents, AFileBeginsWithItsVersionAndIsNamedByTimeAndHost) {
  World w;
  TensorBoardLog log(w.files, "run", "ho/st", 1'700'000'000, at(2s));
  EXPECT_EQ(log.path(), "run/events.out.tfevents.1700000002.ho_st");
  const std::vector<Scalar> scalars = {{"train/loss", 0.5F}};
  run(log.add(at(2s), Step(1), scalars));
  run(log.add(at(3s), Step(2), scalars));
  run(log.close());
  EXPECT_EQ(w.text(log.path()), tfevents_start(1'700'000'002) +
                                    tfevents_record(1'700'000'002, Step(1), scalars) +
                                    tfevents_record(1'700'000'003, Step(2), scalars));
}

// ---- trace

TraceSpan span(std::uint32_t node, Track track, std::string name, std::uint64_t step,
               Duration begin, Duration end) {
  return {NodeId(node), track, std::move(name), Step(step), at(begin), at(end)};
}

TEST(Trace, HasTracksSpansAndArrows) {
  Trace trace;
  trace.add(span(0, Track::Compute, "forward \"1\"", 7, 1us, 3us));
  trace.add(span(0, Track::Communication, "bucket 0", 7, 2us, 5us));
  trace.add(span(0, Track::Communication, "bucket 1", 7, 4us, 6us));
  trace.add(span(1, Track::Communication, "bucket 0", 7, 2us, 5us));
  trace.add(TraceMessage{NodeId(0), NodeId(1), Step(7), at(5500ns), at(4500ns), Bytes(64)});
  const std::string json = trace.to_json();
  EXPECT_EQ(json,
            "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
            R"({"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"node 0"}},)"
            "\n"
            R"({"ph":"M","name":"thread_name","pid":0,"tid":1,"args":{"name":"compute"}},)"
            "\n"
            R"({"ph":"X","name":"forward \"1\"","pid":0,"tid":1,"ts":1.000,"dur":2.000,)"
            R"("args":{"step":7}},)"
            "\n"
            R"({"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"node 0"}},)"
            "\n"
            R"({"ph":"M","name":"thread_name","pid":0,"tid":1001,"args":{"name":"communication"}},)"
            "\n"
            R"({"ph":"M","name":"thread_name","pid":0,"tid":1002,"args":{"name":"communication"}},)"
            "\n"
            R"({"ph":"X","name":"bucket 0","pid":0,"tid":1001,"ts":2.000,"dur":3.000,)"
            R"("args":{"step":7}},)"
            "\n"
            R"({"ph":"X","name":"bucket 1","pid":0,"tid":1002,"ts":4.000,"dur":2.000,)"
            R"("args":{"step":7}},)"
            "\n"
            R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"node 1"}},)"
            "\n"
            R"({"ph":"M","name":"thread_name","pid":1,"tid":1001,"args":{"name":"communication"}},)"
            "\n"
            R"({"ph":"X","name":"bucket 0","pid":1,"tid":1001,"ts":2.000,"dur":3.000,)"
            R"("args":{"step":7}},)"
            "\n"
            R"({"ph":"s","cat":"message","name":"message","id":1,"pid":0,"tid":1002,"ts":5.500,)"
            R"("args":{"bytes":64}},)"
            "\n"
            R"({"ph":"f","cat":"message","name":"message","id":1,"pid":1,"tid":1001,"ts":4.500,)"
            R"("bp":"e","args":{"bytes":64}})"
            "\n]}\n");
}

TEST(Trace, OfALongRunTheFirstAndLastStepsStay) {
  Trace trace(2, 3);
  for (std::uint64_t step = 0; step < 100; ++step)
    trace.add(span(0, Track::Compute, fmt::format("s{}.", step), step, 1us, 2us));
  const std::string json = trace.to_json();
  for (const char* kept : {"\"s0.\"", "\"s1.\"", "\"s98.\"", "\"s99.\""})
    EXPECT_THAT(json, HasSubstr(kept));
  EXPECT_THAT(json, testing::Not(HasSubstr("\"s2.\"")));
  EXPECT_THAT(json, testing::Not(HasSubstr("\"s97.\"")));
  EXPECT_EQ(trace.dropped(), 96U);
  trace.add(span(0, Track::Compute, "late", 50, 1us, 2us));
  for (int i = 0; i < 5; ++i) trace.add(span(0, Track::Compute, "many", 99, 1us, 2us));
  EXPECT_EQ(trace.dropped(), 96U + 1 + 3) << "no step can fill the memory";
  EXPECT_THAT(Trace().to_json(), HasSubstr("[\n]"));
}

// ---- summary

TEST(Summary, HasEveryKeyThatIsPromised) {
  Summary s;
  s.system = "allreduce";
  s.world = "sim";
  s.recipe = {{"topology", "ring"}, {"codec", "none"}};
  s.test_accuracy = 0.975;
  s.lost_nodes = 1;
  s.ledger.consumed = 1000;
  s.trace_hash = 0xabcU;
  s.notes = {{"version", "0.1.0"}};
  const std::string json = to_json(s);
  for (const char* key : {"system",         "world",         "recipe",
                          "model",          "data",          "seed",
                          "workers",        "servers",       "epochs",
                          "batch",          "steps",         "train_loss",
                          "test_accuracy",  "wall_s",        "samples_per_s",
                          "compute_s",      "wait_s",        "bytes_sent_per_worker",
                          "staleness_mean", "staleness_max", "lost_nodes",
                          "ledger",         "consumed",      "dropped",
                          "lost",           "partial",       "repeated",
                          "missing",        "params_sha256", "trace_hash",
                          "version"})
    EXPECT_THAT(json, HasSubstr(fmt::format("\"{}\": ", key)));
  EXPECT_THAT(json, HasSubstr("\"topology\": \"ring\""));
  EXPECT_THAT(json, HasSubstr("\"train_loss\": null"));
  EXPECT_THAT(json, HasSubstr("\"test_accuracy\": 0.975"));
  EXPECT_THAT(json, HasSubstr("\"trace_hash\": \"0000000000000abc\""));
  s.trace_hash.reset();
  s.model = "bad\xff";
  EXPECT_THAT(to_json(s), testing::Not(HasSubstr("trace_hash")));
}

// ---- the folder

TEST(RunFolder, LeavesItsFiles) {
  World w;
  RunFolderOptions options;
  options.folder = "runs/a";
  RunFolder folder(w.files, options);
  ConfigEntry seed;
  seed.key = "seed";
  seed.value = std::int64_t{1};
  run(folder.write_config({seed}));
  StepMetrics metrics;
  metrics.loss = 0.5;
  for (int i = 0; i < 3; ++i) {
    metrics.step = Step(static_cast<std::uint64_t>(i));
    metrics.time = at(i * 400ms);
    run(folder.add(metrics));
  }
  run(folder.flush());
  const Trace trace;
  run(folder.write_trace(trace));
  const Summary summary;
  run(folder.write_summary(summary));
  EXPECT_THAT(run(w.files.list("runs/a")),
              ElementsAre("config.toml", "events.out.tfevents.0000000000.sim", "metrics.jsonl",
                          "summary.json", "trace.json"));
  const std::string lines = w.text("runs/a/metrics.jsonl");
  EXPECT_EQ(std::ranges::count(lines, '\n'), 3);
  EXPECT_EQ(w.text("runs/a/config.toml"), "seed = 1\n");
}

TEST(RunFolder, ASummaryIsOldOrNewWhateverCrashes) {
  std::set<std::string> ends;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (std::uint64_t dies_at = 0; dies_at < 5; ++dies_at) {
      World w{Seed(seed)};
      run(write_whole(w.files, "summary.json", "old", NodeId(0)));
      std::uint64_t calls = 0;
      HookedFiles files(w.files, [&](std::string_view, const std::string&) {
        if (calls++ < dies_at) return true;
        throw std::runtime_error("died");
      });
      bool done = true;
      try {
        run(write_whole(files, "summary.json", "new", NodeId(0)));
      } catch (const std::runtime_error&) {
        done = false;
      }
      w.disk.crash(kNode);
      const std::string end = w.text("summary.json");
      EXPECT_TRUE(!done || end == "new");
      ends.insert(end);
    }
  }
  EXPECT_THAT(ends, ElementsAre("new", "old"));
}

}  // namespace
}  // namespace shoal
