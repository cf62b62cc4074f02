#include "app/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/error.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// One command of each shape: "fish" with every kind of option, "pond" with a subcommand.
struct CommandLine : testing::Test {
  bool quiet = false;
  std::uint64_t seeds = 7;
  std::int64_t depth = -1;
  double speed = 0.5;
  std::string like = "none";
  std::vector<std::string> names;
  std::string kind;
  std::string ran;
  std::function<ExitCode()> body = [] { return ExitCode::kOk; };

  ExitCode run(std::vector<const char*> words) {
    words.insert(words.begin(), "shoal");
    const std::vector<Command> commands{
        {.name = "fish",
         .summary = "swims",
         .options = {{"--quiet", "say nothing", &quiet},
                     {"--seeds", "how many", &seeds},
                     {"--depth", "how deep", &depth},
                     {"--speed", "how fast", &speed},
                     {.name = "--like", .help = "who", .target = &like, .choices = {"cod", "tuna"}},
                     {"--names", "called", &names},
                     {"kind", "which", &kind}},
         .run =
             [this] {
               ran = "fish";
               return body();
             }},
        {.name = "pond",
         .summary = "holds",
         .subcommands = {
             {.name = "fill",
              .summary = "with water",
              .options = {{.name = "--from", .help = "a river", .target = &like, .required = true}},
              .run = [this] {
                ran = "pond fill";
                return ExitCode::kOk;
              }}}}};
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto code = run_command_line(commands, static_cast<int>(words.size()), words.data());
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return code;
  }
  std::string out, err;
};

TEST_F(CommandLine, options_of_every_type_reach_their_variables) {
  EXPECT_EQ(run({"fish", "--quiet", "--seeds", "18446744073709551615", "--depth=-9", "--speed",
                 "1e-3", "--like", "cod", "salt", "--names", "a", "b"}),
            ExitCode::kOk)
      << err;
  EXPECT_EQ(ran, "fish");
  EXPECT_TRUE(quiet);
  EXPECT_EQ(seeds, 18446744073709551615u);
  EXPECT_EQ(depth, -9);
  EXPECT_EQ(speed, 1e-3);
  EXPECT_EQ(like, "cod");
  EXPECT_EQ(kind, "salt");
  EXPECT_THAT(names, testing::ElementsAre("a", "b"));
}

TEST_F(CommandLine, defaults_stay_and_show_in_the_help) {
  EXPECT_EQ(run({"fish"}), ExitCode::kOk);
  EXPECT_EQ(seeds, 7u);
  EXPECT_EQ(run({"fish", "--help"}), ExitCode::kOk);
  EXPECT_THAT(out, AllOf(HasSubstr("--seeds"), HasSubstr("how many"), HasSubstr("=7")));
}

TEST_F(CommandLine, unknown_command_names_the_nearest) {
  EXPECT_EQ(run({"fihs"}), ExitCode::kUsage);
  EXPECT_EQ(err, "shoal: unknown command 'fihs'. Did you mean 'fish'?\n");
  EXPECT_EQ(run({"qqqqqq"}), ExitCode::kUsage);
  EXPECT_EQ(err, "shoal: unknown command 'qqqqqq'. Known: fish, pond.\n");
  EXPECT_EQ(run({"pond", "fil"}), ExitCode::kUsage);
  EXPECT_EQ(err, "shoal pond: unknown command 'fil'. Did you mean 'fill'?\n");
  EXPECT_EQ(ran, "");
}

TEST_F(CommandLine, unknown_option_names_the_nearest) {
  EXPECT_EQ(run({"fish", "--sedes", "3"}), ExitCode::kUsage);
  EXPECT_EQ(err, "shoal fish: unknown option '--sedes'. Did you mean '--seeds'?\n");
  EXPECT_EQ(run({"fish", "--sedes=3"}), ExitCode::kUsage);
  EXPECT_EQ(err, "shoal fish: unknown option '--sedes'. Did you mean '--seeds'?\n");
  EXPECT_EQ(run({"--versoin"}), ExitCode::kUsage);
  EXPECT_EQ(err, "shoal: unknown option '--versoin'. Did you mean '--version'?\n");
  EXPECT_EQ(ran, "");
}

TEST_F(CommandLine, misspelt_required_option_is_reported_as_misspelt) {
  EXPECT_EQ(run({"pond", "fill", "--form", "Rhine"}), ExitCode::kUsage);
  EXPECT_EQ(err, "shoal pond fill: unknown option '--form'. Did you mean '--from'?\n");
  EXPECT_EQ(run({"pond", "fill"}), ExitCode::kUsage);
  EXPECT_EQ(err, "shoal pond fill: --from is required\n");
  EXPECT_EQ(run({"pond", "fill", "--from", "Rhine"}), ExitCode::kOk);
  EXPECT_EQ(ran, "pond fill");
}

TEST_F(CommandLine, unknown_choice_names_the_nearest) {
  EXPECT_EQ(run({"fish", "--like", "tunna"}), ExitCode::kUsage);
  EXPECT_THAT(err, AllOf(HasSubstr("--like"), HasSubstr("Did you mean 'tuna'?")));
}

TEST_F(CommandLine, value_of_the_wrong_type_is_refused) {
  EXPECT_EQ(run({"fish", "--seeds", "many"}), ExitCode::kUsage);
  EXPECT_THAT(err, AllOf(HasSubstr("--seeds"), HasSubstr("many")));
  EXPECT_EQ(run({"fish", "--seeds", "-1"}), ExitCode::kUsage);
  EXPECT_THAT(err, AllOf(HasSubstr("--seeds"), HasSubstr("-1")));
  EXPECT_EQ(run({"fish", "--seeds", "18446744073709551616"}), ExitCode::kUsage);
  EXPECT_EQ(ran, "");
}

TEST_F(CommandLine, more_words_than_positions_are_refused) {
  EXPECT_EQ(run({"fish", "salt", "fresh"}), ExitCode::kUsage);
  EXPECT_EQ(err, "shoal fish: unexpected argument 'fresh'\n");
}

TEST_F(CommandLine, no_command_prints_the_help_as_an_error) {
  EXPECT_EQ(run({}), ExitCode::kUsage);
  EXPECT_THAT(err, AllOf(HasSubstr("which command?"), HasSubstr("fish"), HasSubstr("pond")));
  EXPECT_EQ(run({"pond"}), ExitCode::kUsage);
  EXPECT_THAT(err, AllOf(HasSubstr("shoal pond: which command?"), HasSubstr("fill")));
}

TEST_F(CommandLine, version_is_printed) {
  EXPECT_EQ(run({"--version"}), ExitCode::kOk);
  EXPECT_THAT(out, testing::StartsWith("shoal "));
}

TEST_F(CommandLine, exit_code_of_a_command_is_passed_on) {
  body = [] { return ExitCode::kLostDeterminism; };
  EXPECT_EQ(run({"fish"}), ExitCode::kLostDeterminism);
}

TEST_F(CommandLine, bad_configuration_is_a_usage_error_and_other_exceptions_are_crashes) {
  body = []() -> ExitCode { throw ConfigError("P=0. Hint: at least one worker"); };
  EXPECT_EQ(run({"fish"}), ExitCode::kUsage);
  EXPECT_EQ(err, "shoal: P=0. Hint: at least one worker\n");
  body = []() -> ExitCode { throw DataError("no such file"); };
  EXPECT_EQ(run({"fish"}), ExitCode::kUsage);
  body = []() -> ExitCode { throw std::runtime_error("surprise"); };
  EXPECT_EQ(run({"fish"}), ExitCode::kCrash);
  EXPECT_EQ(err, "shoal: unexpected failure: surprise\n");
}

}  // namespace
}  // namespace shoal
