// The contract of every implementation of Files, without crashes. Instantiate it with a type that
// is default-constructible and has `Files& files()`, an empty folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/files.h"
#include "support/files_text.h"
#include "support/inline_env.h"

namespace shoal {

template <class World>
class FilesSuite : public testing::Test {
 protected:
  Files& files() { return world_.files(); }
  std::vector<std::string> list(std::string folder) { return run(files().list(std::move(folder))); }

 private:
  World world_;
};
TYPED_TEST_SUITE_P(FilesSuite);

TYPED_TEST_P(FilesSuite, WhatIsWrittenIsRead) {
  Files& files = this->files();
  write_text(files, "a", "one");
  EXPECT_EQ(read_text(files, "a"), "one");
  write_text(files, "a", "2");
  EXPECT_EQ(read_text(files, "a"), "2") << "shorter content replaces all of the longer";
  write_text(files, "a", "");
  EXPECT_EQ(read_text(files, "a"), "");
}

TYPED_TEST_P(FilesSuite, WhatIsAppendedFollowsWhatIsThere) {
  Files& files = this->files();
  append_text(files, "f/a", "one ");
  append_text(files, "f/a", "");
  append_text(files, "f/a", "two");
  EXPECT_EQ(read_text(files, "f/a"), "one two") << "the first one creates the file";
  write_text(files, "f/a", "new");
  append_text(files, "f/a", "er");
  EXPECT_EQ(read_text(files, "f/a"), "newer");
  run(files.sync("f/a"));
  append_text(files, "f/a", "!");
  EXPECT_EQ(read_text(files, "f/a"), "newer!");
  const std::string large((std::size_t{1} << 20U) + 1, 'x');
  append_text(files, "f/a", large);
  EXPECT_EQ(read_text(files, "f/a"), "newer!" + large);
  EXPECT_THAT(error_of(files.append("f", {})), testing::HasSubstr("f"));
}

TYPED_TEST_P(FilesSuite, LinesBeginOnLinesOfTheirOwn) {
  Files& files = this->files();
  const auto append_lines = [&](std::string_view text) {
    run(files.append_lines("f/log", text_buf(text)));
  };
  append_lines("one\n");
  append_lines("two\nthree\n");
  EXPECT_EQ(read_text(files, "f/log"), "one\ntwo\nthree\n") << "the first one creates the file";
  append_text(files, "f/log", "hal");
  append_lines("four\n");
  append_lines("five\n");
  EXPECT_EQ(read_text(files, "f/log"), "one\ntwo\nthree\nhal\nfour\nfive\n");
  EXPECT_THAT(error_of(files.append_lines("f", {})), testing::HasSubstr("f"));
}

TYPED_TEST_P(FilesSuite, LargeFilesOfAnySize) {
  for (const std::size_t size :
       {std::size_t{1} << 20U, (std::size_t{1} << 20U) + 1, (std::size_t{3} << 20U) - 1}) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 % 251);
    write_text(this->files(), "large", text);
    EXPECT_TRUE(read_text(this->files(), "large") == text) << size << " bytes";
  }
}

TYPED_TEST_P(FilesSuite, WriteMakesTheFoldersAbove) {
  Files& files = this->files();
  write_text(files, "a/b/c", "deep");
  EXPECT_EQ(read_text(files, "a/b/c"), "deep");
  EXPECT_THAT(error_of(files.write("a", {})), testing::HasSubstr("a"));
  EXPECT_THAT(error_of(files.write("a/b/c/d", {})), testing::HasSubstr("c"));
}

TYPED_TEST_P(FilesSuite, ListIsSortedAndEmptyForWhatIsAbsent) {
  Files& files = this->files();
  EXPECT_THAT(this->list(""), testing::IsEmpty());
  EXPECT_THAT(this->list("absent/too"), testing::IsEmpty());
  for (const char* name : {"f/b", "f/a/x", "f/c", "e"}) write_text(files, name, "");
  EXPECT_THAT(this->list("f"), testing::ElementsAre("a", "b", "c"));
  EXPECT_THAT(this->list(""), testing::ElementsAre("e", "f"));
  EXPECT_THAT(this->list("."), testing::ElementsAre("e", "f"));
  EXPECT_THAT(error_of(files.list("e")), testing::HasSubstr("e"));
}

TYPED_TEST_P(FilesSuite, RenameReplacesAFileAndMovesAFolder) {
  Files& files = this->files();
  write_text(files, "old", "old");
  write_text(files, "new", "new");
  run(files.rename("new", "old"));
  EXPECT_EQ(read_text(files, "old"), "new");
  EXPECT_THAT(this->list(""), testing::ElementsAre("old"));

  write_text(files, "f/x", "x");
  run(files.rename("f", "deep/g"));
  EXPECT_EQ(read_text(files, "deep/g/x"), "x");
  run(files.rename("deep/g/x", "y"));
  EXPECT_THAT(this->list(""), testing::ElementsAre("deep", "old", "y"));
  run(files.rename("y", "y"));
  EXPECT_EQ(read_text(files, "y"), "x");
}

TYPED_TEST_P(FilesSuite, RenameRefusesWhatItCannotDo) {
  Files& files = this->files();
  write_text(files, "full/x", "x");
  write_text(files, "other/y", "y");
  write_text(files, "file", "z");
  EXPECT_THAT(error_of(files.rename("absent", "b")), testing::HasSubstr("absent"));
  EXPECT_THAT(error_of(files.rename("other", "full")), testing::HasSubstr("not empty"));
  EXPECT_NE(error_of(files.rename("other", "file")), "");
  EXPECT_NE(error_of(files.rename("file", "full")), "");
  EXPECT_NE(error_of(files.rename("full", "full/below")), "");
  EXPECT_EQ(read_text(files, "full/x") + read_text(files, "other/y") + read_text(files, "file"),
            "xyz");
}

TYPED_TEST_P(FilesSuite, RemoveTakesAllBelowAndIsDoneForWhatIsAbsent) {
  Files& files = this->files();
  write_text(files, "f/g/x", "");
  write_text(files, "f/y", "");
  write_text(files, "z", "");
  run(files.remove("f"));
  EXPECT_THAT(this->list(""), testing::ElementsAre("z"));
  run(files.remove("z"));
  run(files.remove("z"));
  EXPECT_THAT(this->list(""), testing::IsEmpty());
}

TYPED_TEST_P(FilesSuite, SyncAndReadNeedSomethingThatExists) {
  Files& files = this->files();
  write_text(files, "f/x", "x");
  run(files.sync("f/x"));
  run(files.sync("f"));
  run(files.sync(""));
  EXPECT_THAT(error_of(files.sync("absent")), testing::HasSubstr("absent"));
  EXPECT_THAT(error_of(files.read("absent")), testing::HasSubstr("absent"));
  EXPECT_THAT(error_of(files.read("f")), testing::HasSubstr("f"));
}

TYPED_TEST_P(FilesSuite, PathsThatCouldLeaveTheFolderAreRefused) {
  Files& files = this->files();
  write_text(files, "a/x", "x");
  const std::vector<std::string> refused = {
      "/etc/hostname", "..", "../x", "a/../../x", "a/..",
      "a//x",          "a/", "./a",  "a/./x",     std::string("a\0x", 3)};
  for (const std::string& path : refused) {
    const auto names_it = testing::HasSubstr(fmt::format("path \"{}\"", path.c_str()));
    EXPECT_THAT(error_of(files.write(path, {})), names_it);
    EXPECT_THAT(error_of(files.append(path, {})), names_it);
    EXPECT_THAT(error_of(files.read(path)), names_it);
    EXPECT_THAT(error_of(files.sync(path)), names_it);
    EXPECT_THAT(error_of(files.remove(path)), names_it);
    EXPECT_THAT(error_of(files.list(path)), names_it);
    EXPECT_THAT(error_of(files.rename(path, "b")), names_it);
    EXPECT_THAT(error_of(files.rename("a", path)), names_it);
  }
  for (const char* root : {"", "."}) {
    EXPECT_NE(error_of(files.remove(root)), "");
    EXPECT_NE(error_of(files.write(root, {})), "");
    EXPECT_NE(error_of(files.append(root, {})), "");
    EXPECT_NE(error_of(files.rename(root, "b")), "");
    EXPECT_NE(error_of(files.rename("a", root)), "");
  }
  EXPECT_EQ(read_text(files, "a/x"), "x");
}

REGISTER_TYPED_TEST_SUITE_P(FilesSuite, WhatIsWrittenIsRead, WhatIsAppendedFollowsWhatIsThere,
                            LinesBeginOnLinesOfTheirOwn, LargeFilesOfAnySize,
                            WriteMakesTheFoldersAbove, ListIsSortedAndEmptyForWhatIsAbsent,
                            RenameReplacesAFileAndMovesAFolder, RenameRefusesWhatItCannotDo,
                            RemoveTakesAllBelowAndIsDoneForWhatIsAbsent,
                            SyncAndReadNeedSomethingThatExists,
                            PathsThatCouldLeaveTheFolderAreRefused);

}  // namespace shoal
