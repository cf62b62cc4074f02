#include "base/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "base/error.h"

namespace shoal {
namespace {

using testing::ElementsAre;

enum class Fruit : std::uint8_t { Apple, Cherry, Date };
constexpr std::size_t kFruits = count_up_to(Fruit::Date);
constexpr auto kFruitNames =
    names<Fruit>({{Fruit::Apple, "apple"}, {Fruit::Cherry, "cherry"}, {Fruit::Date, "date"}});
static_assert(kFruitNames.size() == kFruits);
static_assert(kFruitNames.of(Fruit::Cherry) == "cherry");
static_assert(kFruitNames.find("date") == Fruit::Date);

TEST(Names, EveryNameGivesItsValueBack) {
  EXPECT_THAT(kFruitNames.all(), ElementsAre("apple", "cherry", "date"));
  for (const std::string_view name : kFruitNames.all())
    EXPECT_EQ(kFruitNames.of(kFruitNames.parse("fruit", name)), name);
  EXPECT_EQ(kFruitNames.find("Date"), std::nullopt);
}

TEST(Names, AnUnknownNameSuggestsTheNearest) {
  try {
    kFruitNames.parse("--fruit", "chery");
    FAIL() << "it was taken";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "--fruit 'chery' is not known. Did you mean 'cherry'?");
  }
}

TEST(Names, AValueWithoutANameIsABug) {
  EXPECT_THROW(static_cast<void>(kFruitNames.of(static_cast<Fruit>(3))), std::out_of_range);
}

}  // namespace
}  // namespace shoal
