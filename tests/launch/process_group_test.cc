// Real processes, started and watched by a loop.
#include "launch/process_group.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "support/temporary_folder.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Processes : public testing::Test {
 protected:
  Processes() : out_(open_file("out")), err_(open_file("err")), output_(loop_, out_, err_) {
    group_ = std::make_unique<ProcessGroup>(loop_, output_, ProcessGroupOptions{50ms, 50ms});
    group_->on_exit([this](std::uint32_t rank, const Ended& ended) {
      ended_.emplace_back(rank, describe(ended));
      if (group_->running() == 0) output_.flush([this] { loop_.stop(); });
    });
  }
  ~Processes() override {
    close(out_);
    close(err_);
  }

  int open_file(const char* name) {
    return open((folder_.path() / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
  }
  static ProcessPlan shell(const std::string& script) {
    ProcessPlan plan;
    plan.command = {"/bin/sh", "-c", script};
    plan.environment = {"PATH=/usr/bin:/bin"};
    return plan;
  }
  std::string text(const char* name) const {
    std::ifstream file(folder_.path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Waits for the pid that a script writes to the file.
  pid_t pid_in(const char* name) const {
    while (true) {
      const std::string number = text(name);
      if (number.ends_with('\n')) return std::stoi(number);
      std::this_thread::sleep_for(1ms);
    }
  }
  std::string path(const char* name) const { return folder_.path() / name; }
  // Dead, or a zombie that its new parent has not reaped yet.
  static bool is_dead(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string stat;
    std::getline(file, stat);  // empty also if it dies between being opened and being read
    return stat.empty() || stat.find(") Z") != std::string::npos;
  }
  // A killed process closes its files, which its group notices, before it counts as dead.
  static bool dies(pid_t pid) {
    for (int i = 0; i < 10'000 && !is_dead(pid); ++i) std::this_thread::sleep_for(1ms);
    return is_dead(pid);
  }

  TemporaryFolder folder_;
  LiveLoop loop_;
  int out_;
  int err_;
  Output output_;
  std::unique_ptr<ProcessGroup> group_;
  std::vector<std::pair<std::uint32_t, std::string>> ended_;
};

TEST_F(Processes, AllOfTheirOutputIsReadBeforeTheirExitIsTold) {
  // More than a pipe and the queue hold; the process is dead long before its output is read.
  ProcessPlan plan = shell("head -c 3000000 /dev/zero; printf end >&2; kill -9 $$");
  plan.raw = true;
  group_->start(4, plan);
  loop_.run();
  EXPECT_THAT(ended_, testing::ElementsAre(testing::Pair(4U, "killed by signal 9 (Killed)")));
  EXPECT_EQ(text("out"), std::string(3000000, '\0'));
  EXPECT_EQ(text("err"), "end");
}

TEST_F(Processes, LinesOfSeveralAreNeverTorn) {
  constexpr int kRanks = 4;
  constexpr int kLines = 500;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    ProcessPlan plan =
        shell("i=0; while [ $i -lt 500 ]; do printf '%s ' $i; echo xyz; i=$((i+1)); done");
    plan.prefix = "[" + std::to_string(rank) + "] ";
    group_->start(rank, plan);
  }
  loop_.run();
  std::ifstream file(path("out"));
  std::vector<int> next(kRanks, 0);
  for (std::string line; std::getline(file, line);) {
    ASSERT_EQ(line[0], '[') << line;
    const auto rank = static_cast<std::size_t>(line[1] - '0');
    ASSERT_LT(rank, next.size()) << line;
    ASSERT_EQ(line, "[" + std::to_string(rank) + "] " + std::to_string(next[rank]++) + " xyz");
  }
  EXPECT_EQ(next, std::vector<int>(kRanks, kLines));
}

TEST_F(Processes, ALastLineWithoutNewlineIsKeptAndClosedOnlyWhenMoreFollows) {
  group_->start(0, shell("printf one"));
  loop_.run();
  EXPECT_EQ(text("out"), "one");
  group_->start(1, shell("printf two"));
  loop_.run();
  EXPECT_EQ(text("out"), "one\ntwo");
}

TEST_F(Processes, WhatIgnoresTheRequestToEndIsKilledAfterTheGrace) {
  group_->start(0, shell("trap '' TERM; echo $$ >" + path("pid") + "; while :; do sleep 1; done"));
  const pid_t pid = pid_in("pid");
  group_->end(SIGTERM);
  loop_.run();
  EXPECT_THAT(ended_, testing::ElementsAre(testing::Pair(0U, "killed by signal 9 (Killed)")));
  EXPECT_TRUE(is_dead(pid));
}

TEST_F(Processes, ASignalReachesAllAndTheirChildren) {
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const std::string name = path(rank == 0 ? "pid0" : "pid1");
    // The outer shell waits for the inner one, which reports that it was reached.
    group_->start(
        rank, shell("trap 'true' USR1; sh -c 'trap \"echo got it; exit 0\" USR1; echo $$ >" + name +
                    "; while :; do sleep 0.01; done'; exit 5"));
  }
  pid_in("pid0");
  pid_in("pid1");
  group_->signal(SIGUSR1);
  loop_.run();
  EXPECT_THAT(ended_, testing::UnorderedElementsAre(testing::Pair(0U, "exit status 5"),
                                                    testing::Pair(1U, "exit status 5")));
  EXPECT_EQ(text("out"), "got it\ngot it\n");
}

TEST_F(Processes, WhatAProcessLeavesBehindIsKilledWithIt) {
  group_->start(0,
                shell("trap '' TERM; sh -c 'while :; do sleep 1; done' & echo $! >" + path("pid")));
  loop_.run();
  EXPECT_THAT(ended_, testing::ElementsAre(testing::Pair(0U, "exit status 0")));
  EXPECT_TRUE(dies(pid_in("pid")));
}

TEST_F(Processes, OutputHeldOpenOutsideOfTheGroupIsNotWaitedFor) {
  group_->start(0, shell("setsid sh -c 'echo $$ >" + path("pid") +
                         "; while :; do sleep 1; done' & while [ ! -s " + path("pid") +
                         " ]; do sleep 0.01; done; echo said"));
  loop_.run();
  EXPECT_THAT(ended_, testing::ElementsAre(testing::Pair(0U, "exit status 0")));
  EXPECT_EQ(text("out"), "said\n");
  kill(-pid_in("pid"), SIGKILL);
}

TEST_F(Processes, GoWithTheirGroup) {
  group_->start(0, shell("sh -c 'while :; do sleep 1; done' & echo $! >" + path("pid") + "; wait"));
  const pid_t pid = pid_in("pid");
  group_.reset();
  EXPECT_TRUE(dies(pid));
  EXPECT_TRUE(ended_.empty());
}

TEST_F(Processes, ARankCanBeStartedAgainWhenItsExitIsTold) {
  int lives = 1;
  group_->on_exit([&](std::uint32_t rank, const Ended& ended) {
    ended_.emplace_back(rank, describe(ended));
    if (lives++ < 20) return group_->start(rank, shell("echo again; exit 2"));
    output_.flush([this] { loop_.stop(); });
  });
  group_->start(0, shell("exit 1"));
  loop_.run();
  EXPECT_EQ(ended_.size(), 20U);
  std::string expected;
  for (int i = 1; i < 20; ++i) expected += "again\n";
  EXPECT_EQ(text("out"), expected);
}

TEST_F(Processes, TheTokenComesByADescriptorAndNothingOfOursIsInherited) {
  std::set<std::string> expected = {"0", "1", "2", "3"};
  // Descriptors that this test inherited.
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string number = entry.path().filename();
    const int flags = fcntl(std::stoi(number), F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) expected.insert(number);
  }
  ProcessPlan plan;
  plan.command = {"/bin/sh", "-c", "cat <&3; exec /bin/ls /proc/self/fd"};
  plan.token = "the secret";
  group_->start(0, plan);
  loop_.run();
  std::istringstream lines(text("out"));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(line, "the secret");
  std::vector<std::string> others;  // ls itself has one descriptor for the folder
  while (std::getline(lines, line))
    if (expected.erase(line) == 0) others.push_back(line);
  EXPECT_THAT(expected, testing::IsEmpty());
  EXPECT_EQ(others.size(), 1U) << testing::PrintToString(others);
}

TEST_F(Processes, WhatCannotBeRunIsSaidAtOnce) {
  ProcessPlan plan;
  plan.command = {path("script")};
  std::ofstream(path("script")) << "#!/nonexistent/interpreter\n";
  std::filesystem::permissions(path("script"), std::filesystem::perms::owner_all);
  try {
    group_->start(0, plan);
    ADD_FAILURE() << "it was started";
  } catch (const CannotRun& error) {
    EXPECT_EQ(error.status(), 127);
    EXPECT_THAT(error.what(), HasSubstr("interpreter"));
  }
  EXPECT_EQ(group_->running(), 0U);
}

TEST(FindProgram, LooksWhereAShellWould) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "plain") << "text";
  EXPECT_EQ(find_program("sh", "/nonexistent:/bin"), "/bin/sh");
  EXPECT_EQ(find_program("/bin/sh", ""), "/bin/sh");
  const auto status = [&](const std::string& name) {
    try {
      find_program(name, folder.path().string());
      return 0;
    } catch (const CannotRun& error) {
      EXPECT_THAT(error.what(), HasSubstr(name));
      return error.status();
    }
  };
  EXPECT_EQ(status("plain"), 126);
  EXPECT_EQ(status("nothing"), 127);
  EXPECT_EQ(status("/tmp"), 126);
}

}  // namespace
}  // namespace shoal
