// Input files on a real disk, and paths that are not input files.
#include "runtime/live/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "support/temporary_folder.h"

namespace shoal {
namespace {

class MappedFile : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& content) {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string refusal(const std::string& path) {
    try {
      map_file(path);
    } catch (const FileMissing& e) {
      return "missing: " + std::string(e.what());
    } catch (const DataError& e) {
      return e.what();
    }
    return "opened";
  }
  TemporaryFolder folder_;
};

TEST_F(MappedFile, ItsBytesOutliveTheNameAndAnyCopyOfTheView) {
  const std::string path = put("a", "shoal of fish");
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  {
    const FileView view = map_file(path);
    EXPECT_EQ(view.path, path);
    bytes = view.bytes;
    owner = view.owner;
  }
  std::filesystem::remove(path);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
            "shoal of fish");
}

TEST_F(MappedFile, WhatIsNoReadableFileIsRefusedByName) {
  const std::string none = (folder_.path() / "none").string();
  EXPECT_EQ(refusal(none), "missing: " + none + ": there is no such file");
  EXPECT_TRUE(refusal(put("file", "x") + "/below").starts_with("missing: "));
  EXPECT_EQ(refusal(folder_.path().string()),
            folder_.path().string() + " is a folder; give a file in it");
  const std::string empty = put("empty", "");
  EXPECT_EQ(refusal(empty), empty + " is empty");
  const std::string pipe = (folder_.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal(pipe), pipe + " is a device or a pipe; only a file can be mapped");
}

TEST_F(MappedFile, OneThatMayNotBeReadSaysSo) {
  const std::string path = put("secret", "x");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  // Root may read everything, so root becomes another user for a moment.
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string answer = refusal(path);
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_NE(answer.find("this user may not read it"), std::string::npos) << answer;
}

}  // namespace
}  // namespace shoal
