#include "learner/torch_loader/torch_plugin.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/error.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

fs::path fake(const std::string& kind) { return fs::path(SHOAL_FAKE_PLUGINS) / kind; }

std::string error_of(const std::vector<fs::path>& directories) {
  try {
    TorchPlugin::load(directories);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TorchPlugin, is_searched_beside_the_program_then_in_lib_shoal) {
  EXPECT_THAT(plugin_directories("/opt/shoal/bin/shoal"),
              testing::ElementsAre("/opt/shoal/bin", "/opt/shoal/lib/shoal"));
}

TEST(TorchPlugin, loads_from_the_first_directory_that_has_it) {
  const auto plugin = TorchPlugin::load({"/nonexistent", fake("good"), fake("other_abi")});
  EXPECT_EQ(plugin.file(), fake("good") / "shoal_torch.so");
  EXPECT_EQ(plugin.describe().version, "fake");
  EXPECT_EQ(plugin.describe().threads, 3);
}

TEST(TorchPlugin, missing_says_where_it_looked_and_what_to_install) {
  EXPECT_THAT(error_of({"/nonexistent/bin", "/nonexistent/lib/shoal"}),
              AllOf(HasSubstr("no libtorch plugin"), HasSubstr("/nonexistent/bin/shoal_torch.so"),
                    HasSubstr("/nonexistent/lib/shoal/shoal_torch.so"),
                    HasSubstr("apt-get install libtorch-dev"), HasSubstr("./shoalw build")));
}

TEST(TorchPlugin, of_another_interface_is_refused_unread) {
  EXPECT_THAT(error_of({fake("other_abi")}),
              AllOf(HasSubstr(fmt::format("interface {}", kTorchAbiVersion + 41)),
                    HasSubstr(fmt::format("expected {}", kTorchAbiVersion)), HasSubstr("Hint:")));
}

TEST(TorchPlugin, of_another_release_is_refused) {
  EXPECT_THAT(error_of({fake("other_version")}),
              AllOf(HasSubstr("of shoal 0.0.1-old"), HasSubstr("Hint: build program and plugin")));
}

TEST(TorchPlugin, that_is_some_other_library_is_refused) {
  EXPECT_THAT(error_of({fake("no_entry")}),
              AllOf(HasSubstr("not a plugin of shoal"), HasSubstr("shoal_torch_api")));
}

TEST(TorchPlugin, that_cannot_be_loaded_passes_on_the_loaders_reason) {
  const auto directory = fs::path(SHOAL_FAKE_PLUGINS) / "no_library";
  fs::create_directories(directory);
  std::ofstream(directory / "shoal_torch.so") << "no library";
  EXPECT_THAT(error_of({directory}), AllOf(HasSubstr("cannot load"), HasSubstr("file too short"),
                                           HasSubstr("apt-get install libtorch-dev")));
  fs::remove_all(directory);
}

}  // namespace
}  // namespace shoal
