// How the job's secret reaches its processes.
#include "launch/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "base/error.h"
#include "launch/descriptor.h"
#include "support/temporary_folder.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Place place_of(std::uint32_t rank, const std::string& job) {
  Place place;
  place.rank = rank;
  place.world = 3;
  place.local_world = 3;
  place.job = job;
  place.master_port = 4000;
  return place;
}

Lookup lookup_in(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    if (it == variables.end()) return std::nullopt;
    return it->second;
  };
}

template <class F>
std::string refusal(F f) {
  try {
    f();
    return "accepted";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(Token, IsNewEachTimeAndSurvivesItsDescriptor) {
  const std::string token = new_token();
  EXPECT_EQ(token.size(), 64U);
  EXPECT_NE(token, new_token());
  const Descriptor descriptor(token_descriptor(token));
  const Lookup lookup = lookup_in({{"SHOAL_TOKEN_FD", std::to_string(descriptor.get())}});
  EXPECT_EQ(find_secret(lookup, place_of(1, "j")).token, token);
  EXPECT_EQ(find_secret(lookup, place_of(1, "j")).token, token) << "it can be read again";
}

TEST(Token, ComesThroughAPipeToo) {
  const std::string token = new_token();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  write_all(writing.get(), token + "\n");
  writing.reset();
  const Lookup lookup = lookup_in({{"SHOAL_TOKEN_FD", std::to_string(reading.get())}});
  EXPECT_EQ(find_secret(lookup, place_of(1, "j")).token, token);
}

TEST(Token, ABadDescriptorOrTextIsRefusedWithoutShowingIt) {
  const auto find = [](const std::string& fd) {
    return refusal([&] { find_secret(lookup_in({{"SHOAL_TOKEN_FD", fd}}), place_of(1, "j")); });
  };
  EXPECT_THAT(find("x"), HasSubstr("SHOAL_TOKEN_FD=x"));
  EXPECT_THAT(find("987654"), HasSubstr("SHOAL_TOKEN_FD=987654"));
  const std::string text = refusal([] { parse_token("secret but short", "there"); });
  EXPECT_THAT(text, HasSubstr("there"));
  EXPECT_THAT(text, testing::Not(HasSubstr("secret but short")));
}

TEST(Token, AFileMustBeItsReadersAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "token";
  const std::string token = new_token();
  std::ofstream(path) << token << "\n";
  const Lookup lookup = lookup_in({{"SHOAL_TOKEN_FILE", path}});
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_THAT(refusal([&] { find_secret(lookup, place_of(1, "j")); }),
              testing::AllOf(HasSubstr(path), HasSubstr("644"), HasSubstr("chmod 600")));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(find_secret(lookup, place_of(1, "j")).token, token);
  EXPECT_THAT(refusal([&] { read_token_file(folder.path() / "none"); }), HasSubstr("none"));
  EXPECT_THAT(refusal([&] { read_token_file(folder.path()); }), HasSubstr("not a plain file"));
}

TEST(Token, WithoutOneOnlyLoopbackIsAllowed) {
  Place place = place_of(1, "j");
  place.master_addr = "10.0.0.1";
  EXPECT_THAT(refusal([&] { find_secret(lookup_in({}), place); }),
              testing::AllOf(HasSubstr("10.0.0.1"), HasSubstr("SHOAL_TOKEN_FILE")));
}

TEST(SharedToken, IsMadeByRankZeroAndReadByThoseWhoWaited) {
  const TemporaryFolder folder;
  std::string seen[2];
  std::vector<std::thread> others;
  for (std::uint32_t rank = 1; rank < 3; ++rank)
    others.emplace_back([&, rank] {
      const SharedToken token(place_of(rank, "job/1"), folder.path(), 60s);
      seen[rank - 1] = token.token();
    });
  SharedToken token(place_of(0, "job/1"), folder.path(), 60s);
  for (std::thread& t : others) t.join();
  EXPECT_EQ(seen[0], token.token());
  EXPECT_EQ(seen[1], token.token());
  EXPECT_EQ(files_in(folder.path()), 1U);
  token.all_have_joined();
  EXPECT_EQ(files_in(folder.path()), 0U);
}

TEST(SharedToken, RankZeroTwiceIsRefusedAndJobsDoNotMix) {
  const TemporaryFolder folder;
  const SharedToken first(place_of(0, "a.b"), folder.path(), 1s);
  const SharedToken other(place_of(0, "a/b"), folder.path(), 1s);
  EXPECT_NE(first.token(), other.token());
  EXPECT_THAT(refusal([&] { SharedToken(place_of(0, "a.b"), folder.path(), 1s); }),
              testing::AllOf(HasSubstr("a.b"), HasSubstr(std::to_string(getpid()))));
  EXPECT_EQ(files_in(folder.path()), 2U);
}

TEST(SharedToken, WhatADeadJobLeftIsReplaced) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    // Dies without removing its file.
    const SharedToken left(place_of(0, "job"), folder.path(), 1s);
    kill(getpid(), SIGKILL);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_EQ(files_in(folder.path()), 1U);
  EXPECT_THAT(refusal([&] { SharedToken(place_of(1, "job"), folder.path(), 20ms); }),
              HasSubstr("is rank 0 running"));
  const SharedToken token(place_of(0, "job"), folder.path(), 1s);
  const SharedToken reader(place_of(1, "job"), folder.path(), 1s);
  EXPECT_EQ(reader.token(), token.token());
}

TEST(SharedToken, SomebodyElsesFileIsNotTrusted) {
  const TemporaryFolder folder;
  std::string path;
  {
    const SharedToken token(place_of(0, "job"), folder.path(), 1s);
    path = std::filesystem::directory_iterator(folder.path())->path();
  }
  std::ofstream(path) << new_token() << " 1 1\n";
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_THAT(refusal([&] { SharedToken(place_of(1, "job"), folder.path(), 20ms); }),
              HasSubstr("was not made by this user"));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/etc/passwd", path);
  EXPECT_THAT(refusal([&] { SharedToken(place_of(1, "job"), folder.path(), 20ms); }),
              HasSubstr(path));
}

TEST(SharedToken, AFolderThatDoesNotTakeItIsNamed) {
  EXPECT_THAT(refusal([] { SharedToken(place_of(0, "job"), "/nonexistent", 1s); }),
              HasSubstr("/nonexistent"));
}

}  // namespace
}  // namespace shoal
