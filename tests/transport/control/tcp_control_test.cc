#include "transport/control/tcp_control.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "runtime/live/live_env.h"
#include "runtime/live/loop.h"
#include "runtime/task_group.h"
#include "transport/control/raw_socket.h"
#include "transport/control/token.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

// Two nets on one loop, and their log.
class TcpControl : public testing::Test {
 protected:
  TcpControlOptions options() {
    TcpControlOptions options{.token = token_};
    options.log = [this](const std::string& line) { log_ += line + "\n"; };
    return options;
  }
  // Runs a test's coroutine with a time limit.
  void run(Task<void> story) { run_task(loop_, limited(std::move(story))); }
  Task<void> limited(Task<void> story) {
    const bool ended = co_await timeout(env_, 30s, std::move(story));
    EXPECT_TRUE(ended) << "the story hangs";
  }
  Task<void> until(std::function<bool()> condition) {
    while (!condition()) co_await env_.sleep(1ms);
  }
  bool logged(const std::string& what) const { return log_.find(what) != std::string::npos; }
  // Performs the handshake of a peer over a raw socket.
  void shake_hands(RawSocket& socket, const JobToken& token) {
    const std::string nonce(32, 'n');
    const std::string version("\1\0\0\0", 4);
    socket.write("SHOALctl" + version + nonce);
    const std::string hello = socket.read(44);
    const JobToken::Proof proof =
        token.prove("shoal connects" + nonce + hello.substr(12) + version);
    socket.write({reinterpret_cast<const char*>(proof.data()), proof.size()});
    EXPECT_EQ(socket.read(32).size(), 32U);
  }

  JobToken token_ = JobToken::random();
  LiveLoop loop_;
  LiveEnv env_{loop_, LiveEnvOptions()};
  std::string log_;
};

// The type of the exception that a coroutine throws.
template <class E, class T>
Task<std::string> error_of(Task<T> task) {
  std::string what = "nothing was thrown";
  try {
    co_await std::move(task);
  } catch (const E& error) {
    what = error.what();
  }
  co_return what;
}

TEST_F(TcpControl, MessagesOfAllSizesArriveInOrderBothWays) {
  TcpControlNet a(loop_, options());
  TcpControlNet b(loop_, options());
  std::vector<std::string> messages;
  for (const std::size_t size : {0UL, 1UL, 3UL, 70'000UL, 5UL, 1UL << 20U, kControlFrameMax, 2UL})
    messages.emplace_back(size, static_cast<char>('a' + messages.size()));
  const auto story = [&]() -> Task<void> {
    const std::unique_ptr<ControlLink> out = co_await a.connect(b.address());
    const std::unique_ptr<ControlLink> in = co_await b.accept();
    for (const std::string& message : messages) {
      out->send(message);
      in->send(message);
    }
    for (const std::string& message : messages) {
      const std::string there = co_await in->receive();
      const std::string back = co_await out->receive();
      EXPECT_TRUE(there == message) << message.size() << " bytes";
      EXPECT_TRUE(back == message) << message.size() << " bytes";
    }
    EXPECT_EQ(out->peer(), b.address());
    EXPECT_THAT(in->peer(), HasSubstr("127.0.0.1:"));
  };
  run(story());
  EXPECT_EQ(log_, "");
}

TEST_F(TcpControl, ReceiveMayBeCancelledInTheMiddleOfAFrame) {
  TcpControlNet net(loop_, options());
  RawSocket socket = RawSocket::connect_to(net.address());
  const auto story = [&]() -> Task<void> {
    std::thread raw([&] { shake_hands(socket, token_); });
    const std::unique_ptr<ControlLink> link = co_await net.accept();
    raw.join();
    socket.write(std::string("\5\0\0\0he", 6));
    std::optional<std::string> message = co_await timeout(env_, 20ms, link->receive());
    EXPECT_FALSE(message.has_value());
    socket.write("llo");
    message = co_await timeout(env_, 20s, link->receive());
    EXPECT_EQ(message, "hello");
  };
  run(story());
}

TEST_F(TcpControl, AnotherTokenIsRefusedOnBothSides) {
  TcpControlNet net(loop_, options());
  TcpControlNet stranger(loop_, {.token = JobToken::random()});
  const auto story = [&]() -> Task<void> {
    const std::string error = co_await error_of<ConfigError>(stranger.connect(net.address()));
    EXPECT_THAT(error, AllOf(HasSubstr(net.address()), HasSubstr("another token")));
    co_await until([&] { return logged("another token"); });
  };
  run(story());
  EXPECT_EQ(log_.find(token_.hex()), std::string::npos);
}

TEST_F(TcpControl, AnotherVersionIsNamedOnBothSides) {
  TcpControlNet net(loop_, options());
  TcpControlOptions newer = options();
  newer.version = 7;
  newer.log = nullptr;
  TcpControlNet other(loop_, newer);
  const auto story = [&]() -> Task<void> {
    const std::string error = co_await error_of<ConfigError>(other.connect(net.address()));
    EXPECT_THAT(error, AllOf(HasSubstr("version 1"), HasSubstr("version 7")));
    co_await until([&] { return logged("speaks version 7"); });
  };
  run(story());
}

TEST_F(TcpControl, GarbageIsTurnedAwayAndTheNextIsServed) {
  TcpControlNet net(loop_, options());
  TcpControlNet friendly(loop_, options());
  RawSocket browser = RawSocket::connect_to(net.address());
  RawSocket scanner = RawSocket::connect_to(net.address());
  browser.write("GET / HTTP/1.1\r\nHost: shoal\r\n\r\n");
  const auto story = [&]() -> Task<void> {
    co_await until([&] { return logged("does not speak shoal's control protocol"); });
    scanner.close_with_reset();
    co_await until([&] { return net.shaking_hands() == 0; });
    const std::unique_ptr<ControlLink> link = co_await friendly.connect(net.address());
    EXPECT_NE(link, nullptr);
  };
  run(story());
}

TEST_F(TcpControl, WhoEchoesOurOwnProofIsNotLetIn) {
  TcpControlNet net(loop_, options());
  RawSocket mirror = RawSocket::connect_to(net.address());
  const auto story = [&]() -> Task<void> {
    std::thread raw([&] {
      const std::string hello = mirror.read(44);
      mirror.write(hello);
      const std::string proof = mirror.read(32);
      mirror.write(proof);
    });
    co_await until([&] { return logged("another token"); });
    raw.join();
  };
  run(story());
}

TEST_F(TcpControl, SilentGuestsAreBoundedInTimeAndNumber) {
  TcpControlOptions strict = options();
  strict.handshake_limit = 50ms;
  strict.handshakes_max = 2;
  TcpControlNet net(loop_, strict);
  std::vector<RawSocket> silent;
  for (int i = 0; i < 3; ++i) silent.push_back(RawSocket::connect_to(net.address()));
  const auto story = [&]() -> Task<void> {
    co_await until([&] { return logged("2 other connections have not proven themselves yet"); });
    co_await until([&] { return logged("no handshake within"); });
    co_await until([&] { return net.shaking_hands() == 0; });
  };
  run(story());
}

TEST_F(TcpControl, WhoDoesNotAnswerIsNotWaitedForForEver) {
  TcpControlOptions strict = options();
  strict.handshake_limit = 50ms;
  TcpControlNet net(loop_, strict);
  const RawSocket silent = RawSocket::listener();
  std::string nobody;
  {
    const RawSocket gone = RawSocket::listener();
    nobody = gone.address();
  }
  const auto story = [&]() -> Task<void> {
    const std::string late = co_await error_of<LinkLost>(net.connect(silent.address()));
    EXPECT_THAT(late, AllOf(HasSubstr(silent.address()), HasSubstr("did not answer")));
    const std::string refused = co_await error_of<LinkLost>(net.connect(nobody));
    EXPECT_THAT(refused, AllOf(HasSubstr(nobody), HasSubstr("refused")));
  };
  run(story());
}

TEST_F(TcpControl, AddressesThatAreNoneAreNamed) {
  TcpControlNet net(loop_, options());
  const auto story = [&]() -> Task<void> {
    for (const std::string& address : std::vector<std::string>{
             "", "nonsense", "127.0.0.1:", ":5", "127.0.0.1:0", "127.0.0.1:99999", "h:1x"}) {
      const std::string error = co_await error_of<ConfigError>(net.connect(address));
      EXPECT_THAT(error, AllOf(HasSubstr('"' + address + '"'), HasSubstr("HOST:PORT")));
    }
  };
  run(story());
}

TEST_F(TcpControl, APortInUseIsNamed) {
  const TcpControlNet first(loop_, options());
  const std::string port = first.address().substr(first.address().rfind(':') + 1);
  TcpControlOptions same = options();
  same.port = static_cast<std::uint16_t>(std::stoul(port));
  try {
    const TcpControlNet second(loop_, same);
    FAIL() << "two listen on port " << port;
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("port " + port), HasSubstr("in use")));
  }
}

TEST_F(TcpControl, EveryAddressIsNoAddressToPublish) {
  TcpControlOptions everywhere = options();
  everywhere.listen = "0.0.0.0";
  EXPECT_THROW(TcpControlNet(loop_, everywhere), ConfigError);
  everywhere.advertise = "127.0.0.1";
  TcpControlNet net(loop_, everywhere);
  const auto story = [&]() -> Task<void> {
    const std::unique_ptr<ControlLink> link = co_await net.connect(net.address());
    EXPECT_NE(link, nullptr);
  };
  run(story());
}

TEST_F(TcpControl, AnOversizedFrameDropsTheLinkAndIsNamed) {
  TcpControlNet net(loop_, options());
  RawSocket socket = RawSocket::connect_to(net.address());
  const auto story = [&]() -> Task<void> {
    std::thread raw([&] { shake_hands(socket, token_); });
    const std::unique_ptr<ControlLink> link = co_await net.accept();
    raw.join();
    socket.write(std::string("\1\0\0\1", 4));  // 16 MiB and one byte
    const std::string error = co_await error_of<LinkLost>(link->receive());
    EXPECT_THAT(error, HasSubstr("16777217 bytes"));
  };
  run(story());
  EXPECT_TRUE(logged("16777217 bytes"));
}

TEST_F(TcpControl, ALinkIsLostWithTheOtherSideAfterItsLastWords) {
  TcpControlNet net(loop_, options());
  for (const bool reset : {false, true}) {
    RawSocket socket = RawSocket::connect_to(net.address());
    const auto story = [&]() -> Task<void> {
      std::thread raw([&] { shake_hands(socket, token_); });
      const std::unique_ptr<ControlLink> link = co_await net.accept();
      raw.join();
      socket.write(std::string("\4\0\0\0last", 8));
      const std::string last = co_await link->receive();
      EXPECT_EQ(last, "last");
      if (reset) {
        socket.close_with_reset();
      } else {
        const RawSocket dies = std::move(socket);
      }
      const std::string error = co_await error_of<LinkLost>(link->receive());
      EXPECT_THAT(error, HasSubstr("127.0.0.1:"));
      link->send("in vain");
      const std::string again = co_await error_of<LinkLost>(link->receive());
      EXPECT_EQ(again, error);
    };
    run(story());
  }
}

TEST_F(TcpControl, WhatWasSentBeforeClosingArrivesThoughNobodyReadHere) {
  TcpControlNet a(loop_, options());
  TcpControlNet b(loop_, options());
  const auto story = [&]() -> Task<void> {
    const std::unique_ptr<ControlLink> out = co_await a.connect(b.address());
    std::unique_ptr<ControlLink> in = co_await b.accept();
    for (int i = 0; i < 100; ++i) out->send(std::string(10'000, 'x'));
    in->send("farewell");
    in.reset();
    const std::string last = co_await out->receive();
    EXPECT_EQ(last, "farewell");
    const std::string error = co_await error_of<LinkLost>(out->receive());
    EXPECT_THAT(error, HasSubstr("closed"));
  };
  run(story());
}

TEST(JobToken, IsRandomAndComesBackFromHex) {
  const JobToken token = JobToken::random();
  EXPECT_EQ(token.hex().size(), 64U);
  EXPECT_EQ(JobToken::from_hex(token.hex()).hex(), token.hex());
  EXPECT_NE(JobToken::random().hex(), token.hex());
}

TEST(JobToken, WhatIsNoneIsRefusedWithoutRepeatingIt) {
  const std::string almost(63, 'a');
  for (const std::string& text : {std::string(), almost, almost + "g", almost + "aa"}) {
    try {
      JobToken::from_hex(text);
      FAIL() << text;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("64 hexadecimal digits"));
      EXPECT_THAT(error.what(), testing::Not(HasSubstr("aaaa")));
    }
  }
}

// RFC 4231, test case 2, with the key padded to 32 bytes: HMAC pads keys with zeros itself.
TEST(JobToken, ProvesByHmacSha256) {
  const JobToken token =
      JobToken::from_hex("4a65666500000000000000000000000000000000000000000000000000000000");
  const JobToken::Proof proof = token.prove("what do ya want for nothing?");
  std::string hex;
  for (const std::uint8_t byte : proof) hex += fmt::format("{:02x}", byte);
  EXPECT_EQ(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_TRUE(token.proves("what do ya want for nothing?", proof));
  EXPECT_FALSE(token.proves("what do ya want for something?", proof));
  EXPECT_FALSE(JobToken::random().proves("what do ya want for nothing?", proof));
}

}  // namespace
}  // namespace shoal
