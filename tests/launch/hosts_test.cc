// Dealing ranks to hosts, and quoting words for the shell there.
#include "launch/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "launch/remote.h"

namespace shoal {
namespace {

using Shares = std::vector<HostShare>;

std::string refusal(const std::string& hosts, std::optional<std::uint32_t> ranks) {
  try {
    deal_ranks(hosts, ranks);
    return "accepted";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(Hosts, ShareTheRanksEvenlyBlockByBlock) {
  EXPECT_EQ(deal_ranks("a,b", 4), (Shares{{"a", 0, 2}, {"b", 2, 2}}));
  EXPECT_EQ(deal_ranks("a,b,c", 5), (Shares{{"a", 0, 2}, {"b", 2, 2}, {"c", 4, 1}}));
  EXPECT_EQ(deal_ranks("a,b,c", 2), (Shares{{"a", 0, 1}, {"b", 1, 1}}));
}

TEST(Hosts, TakeWhatTheySay) {
  EXPECT_EQ(deal_ranks("a,b:2,c", std::nullopt), (Shares{{"a", 0, 1}, {"b", 1, 2}, {"c", 3, 1}}));
  EXPECT_EQ(deal_ranks("a:3,b:3", 4), (Shares{{"a", 0, 3}, {"b", 3, 1}}));
  EXPECT_EQ(deal_ranks("me@a,b", std::nullopt), (Shares{{"me@a", 0, 1}, {"b", 1, 1}}));
}

TEST(Hosts, BadListsAreRefusedAndSayWhere) {
  EXPECT_THAT(refusal("a,,b", 2), testing::HasSubstr("''"));
  EXPECT_THAT(refusal("a:0", 1), testing::HasSubstr("'a:0'"));
  EXPECT_THAT(refusal("a:x", 1), testing::HasSubstr("'a:x'"));
  EXPECT_THAT(refusal("a:", 1), testing::HasSubstr("'a:'"));
  EXPECT_THAT(refusal("-oProxyCommand=x", 1), testing::HasSubstr("is not the name of a host"));
  EXPECT_THAT(refusal("a;b", 1), testing::HasSubstr("is not the name of a host"));
  EXPECT_THAT(refusal("a,a", 2), testing::HasSubstr("a is repeated"));
  EXPECT_THAT(refusal("a:2,b:1", 4), testing::HasSubstr("-n 4 is more than the 3"));
}

TEST(Remote, QuotedWordsAreOneWordOfAShell) {
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("it's $HOME"), R"('it'\''s $HOME')");
}

TEST(Remote, TheTokenIsNowhereInTheCommand) {
  const std::string script = remote_script({"/work dir", {"A=1"}, {"/bin/prog", "x y"}});
  EXPECT_THAT(script, testing::EndsWith("'/work dir' 'A=1' '/bin/prog' 'x y'"));
  EXPECT_THAT(script, testing::HasSubstr("read -r token"));
}

TEST(Remote, AnotherCommandThanSshMayHaveArguments) {
  // ssh must neither ask for a password nor wait for a host that is gone.
  EXPECT_THAT(ssh_words(""),
              testing::ElementsAre("ssh", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5"));
  EXPECT_EQ(ssh_words("my-ssh -p  22"), (std::vector<std::string>{"my-ssh", "-p", "22"}));
}

}  // namespace
}  // namespace shoal
