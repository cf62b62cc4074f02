// Splits a stream of bytes into whole lines.
#include <gtest/gtest.h>

#include <string>

#include "launch/output.h"

namespace shoal {
namespace {

TEST(Lines, ComeOutWholeHoweverTheyComeIn) {
  const std::string text = "one\n\ntwo words\r\nlast";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    LineSplitter lines("[3] ");
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      const std::string got = lines.feed(std::string_view(text).substr(at, piece));
      EXPECT_TRUE(got.empty() || got.ends_with('\n'));
      out += got;
    }
    out += lines.finish();
    EXPECT_EQ(out, "[3] one\n[3] \n[3] two words\r\n[3] last") << "in pieces of " << piece;
  }
}

TEST(Lines, KeepEveryByte) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i % 256);
  LineSplitter lines("");
  std::string out = lines.feed(text);
  out += lines.finish();
  EXPECT_EQ(out, text);
  EXPECT_EQ(lines.finish(), "");
}

TEST(Lines, OneThatWouldTakeAllMemoryIsCut) {
  LineSplitter lines("> ", 10);
  std::string out;
  for (int i = 0; i < 5; ++i) out += lines.feed("xxxxx");
  out += lines.feed("\nyyyyyyyyyy\nz");
  out += lines.finish();
  EXPECT_EQ(out, "> xxxxxxxxxx\n> xxxxxxxxxx\n> xxxxx\n> yyyyyyyyyy\n> z");
}

}  // namespace
}  // namespace shoal
