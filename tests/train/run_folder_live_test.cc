// The files of a run on a real disk, read by an independent program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/live/posix_files.h"
#include "support/inline_env.h"
#include "support/python.h"
#include "support/temporary_folder.h"
#include "train/run_folder.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

TEST(RunFolderLive, OthersReadWhatWeWrite) {
  TemporaryFolder disk;
  InlineEnv env;
  PosixFiles files(env, disk.path());
  RunFolderOptions options;
  options.folder = "runs/a";
  options.wall_start_s = 1000;
  RunFolder folder(files, options);
  StepMetrics metrics;
  metrics.node = NodeId(2);
  metrics.step = Step(300);
  metrics.time = Time(1500ms);
  run(folder.add(metrics));
  const std::vector<Scalar> scalars = {{"test/accuracy", 0.75F}, {"test/loss", -2.0F}};
  run(folder.add(Time(2s), Step(301), scalars));
  run(folder.flush());
  Trace trace;
  trace.add(TraceSpan{NodeId(0), Track::Communication, "a \"b\"", Step(1), Time(1us), Time(2us)});
  trace.add(TraceMessage{NodeId(0), NodeId(0), Step(1), Time(1us), Time(2us), Bytes(8)});
  run(folder.write_trace(trace));
  Summary summary;
  summary.test_accuracy = 0.75;
  run(folder.write_summary(summary));

  const PythonResult read = run_python(READ_RUN, (disk.path() / "runs/a").string());
  EXPECT_EQ(read.status, 0);
  EXPECT_EQ(read.output,
            "1001.5 None b'brain.Event:2' []\n"
            "1001.5 300 None [('time/compute_s', 0.0), ('time/wait_s', 0.0), "
            "('network/bytes_sent', 0.0)]\n"
            "1002.0 301 None [('test/accuracy', 0.75), ('test/loss', -2.0)]\n"
            "[(300, None)]\n"
            "0.75\n"
            "['M', 'M', 'X', 's', 'f']\n");
}

}  // namespace
}  // namespace shoal
