#include "checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "checkpoint/sha256.h"

namespace shoal {
namespace {

Manifest example() {
  Manifest manifest;
  manifest.step = Step(120);
  manifest.parts.push_back({"model.safetensors", Bytes(4096), std::string(64, 'a')});
  manifest.parts.push_back({"name with blanks", Bytes(0), std::string(64, '0')});
  return manifest;
}

std::string problem_with(const std::string& text) {
  try {
    parse_manifest(text);
  } catch (const Corrupt& error) {
    return error.what();
  }
  return {};
}

TEST(Sha256, EqualsTheStandardsExamples) {
  const auto digest = [](std::string_view text) {
    Sha256 sha;
    for (const char& c : text) sha.add(std::as_bytes(std::span(&c, 1)));
    return sha.hex();
  };
  // FIPS 180-2, appendix B, and the empty message.
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Manifest, IsReadAsItWasWritten) {
  EXPECT_EQ(parse_manifest(to_text(example())), example());
  Manifest empty;
  EXPECT_EQ(parse_manifest(to_text(empty)), empty);
}

TEST(Manifest, ANewerVersionIsNamed) {
  std::string text = to_text(example());
  text.replace(text.find('1'), 1, "2");
  EXPECT_THAT(problem_with(text), testing::HasSubstr("version \"2\", this program knows 1"));
}

TEST(Manifest, EveryChangedCutOrAddedByteIsSeen) {
  const std::string text = to_text(example());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ (1U << bit));
      EXPECT_NE(problem_with(changed), "") << "bit " << bit << " of byte " << at;
    }
    EXPECT_NE(problem_with(text.substr(0, at)), "") << "cut at " << at;
    EXPECT_NE(problem_with(text.substr(at)), at == 0 ? "?" : "") << "begun at " << at;
    EXPECT_NE(problem_with(text.substr(0, at) + '\n' + text.substr(at)), "") << "line at " << at;
  }
}

TEST(Manifest, LinesThatCannotBeAreSaid) {
  const std::string sha(64, 'b');
  const std::string head = "shoal-snapshot 1\nstep 1\n";
  EXPECT_THAT(problem_with(head + "part x " + sha + " a\n"), testing::HasSubstr("line 3"));
  EXPECT_THAT(problem_with(head + "part\n"), testing::HasSubstr("line 3"));
  EXPECT_THAT(problem_with(head + "part 1\n"), testing::HasSubstr("SHA-256"));
  EXPECT_THAT(problem_with(head + "part 1 " + sha + "\n"), testing::HasSubstr("SHA-256"));
  EXPECT_THAT(problem_with(head + "part 1 " + sha + " ../a\n"), testing::HasSubstr("name"));
  EXPECT_THAT(problem_with(head + "part 99999999999999999999 " + sha + " a\n"),
              testing::HasSubstr("size"));
  const std::string part = "part 1 " + sha + " a\n";
  EXPECT_THAT(problem_with(head + part + part), testing::HasSubstr("repeats the name"));
  EXPECT_THAT(problem_with("shoal-snapshot 1\nstep -1\n"), testing::HasSubstr("step"));
}

TEST(Manifest, RandomBytesAreRefused) {
  Random random(Seed(1), Purpose::Test);
  const std::string text = to_text(example());
  for (int i = 0; i < 5000; ++i) {
    std::string noise = text;
    for (std::uint64_t n = random.between(1, 20); n > 0; --n)
      noise[random.below(noise.size())] = static_cast<char>(random.bits());
    EXPECT_EQ(problem_with(noise).empty(), noise == text);
  }
}

}  // namespace
}  // namespace shoal
