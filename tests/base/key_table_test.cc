#include "base/key_table.h"

#include <gtest/gtest.h>

#include <deque>

namespace shoal {
namespace {

struct Entry : ListHook<struct InTable> {
  std::uint64_t key = 0;
};
using Table = KeyTable<Entry, struct InTable>;

TEST(KeyTable, FewItemsHaveNone) {
  Table table;
  std::deque<Entry> items(10);
  for (Entry& item : items) table.put(item, [&] { return item.key; });
  EXPECT_FALSE(table.built());
  table.build(10);
  EXPECT_FALSE(table.built());
}

TEST(KeyTable, ItemsOfAKeyAreFoundInOrderUntilTheyLeave) {
  Table table;
  table.build(100);
  ASSERT_TRUE(table.built());
  std::deque<Entry> items(100);
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].key = i % 10;
    table.put(items[i], [&] { return items[i].key; });
  }
  const auto first = [&](std::uint64_t key) {
    return table.of(key).find([&](const Entry& item) { return item.key == key; });
  };
  EXPECT_EQ(first(3), &items[3]);
  items[3].unlink();
  EXPECT_EQ(first(3), &items[13]);
  for (Entry& item : items) item.unlink();
  EXPECT_EQ(first(3), nullptr);
}

// Counts all puts, even of items that were removed since; the owner then counts the items.
TEST(KeyTable, IsWornWhenAsManyWerePutInAsItHasRoomFor) {
  Table table;
  table.build(100);
  std::size_t puts = 0;
  Entry item;
  for (; !table.worn(); ++puts) {
    table.put(item, [] { return 1U; });
    item.unlink();
  }
  EXPECT_GE(puts, 100U);
  EXPECT_LE(puts, 400U);
  table.build(0);
  EXPECT_FALSE(table.worn());
}

}  // namespace
}  // namespace shoal
