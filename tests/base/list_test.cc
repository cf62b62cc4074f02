#include "base/list.h"

#include <gtest/gtest.h>

#include <vector>

namespace shoal {
namespace {

struct InA;
struct InB;
struct Item : ListHook<InA>, ListHook<InB> {
  explicit Item(int v) : value(v) {}
  int value;
  ListHook<InA>& a() { return *this; }
  ListHook<InB>& b() { return *this; }
};
using ListA = List<Item, InA>;
using ListB = List<Item, InB>;

template <class L>
std::vector<int> values(L& list) {
  std::vector<int> all;
  list.each([&](Item& item) { all.push_back(item.value); });
  return all;
}
template <class L>
void clear(L& list) {
  while (!list.empty()) list.pop_front();
}

TEST(List, KeepsOrderOfArrival) {
  Item one(1);
  Item two(2);
  Item three(3);
  ListA list;
  EXPECT_TRUE(list.empty());
  list.push_back(one);
  list.push_back(two);
  list.push_back(three);
  EXPECT_EQ(values(list), (std::vector{1, 2, 3}));
  EXPECT_EQ(&list.front(), &one);
  EXPECT_EQ(&list.pop_front(), &one);
  EXPECT_FALSE(one.a().linked());
  EXPECT_EQ(values(list), (std::vector{2, 3}));
  clear(list);
  EXPECT_TRUE(list.empty());
}

TEST(List, UnlinksFromTheMiddleAndTwice) {
  Item one(1);
  Item two(2);
  Item three(3);
  ListA list;
  list.push_back(one);
  list.push_back(two);
  list.push_back(three);
  two.a().unlink();
  two.a().unlink();
  EXPECT_EQ(values(list), (std::vector{1, 3}));
  list.push_back(two);
  EXPECT_EQ(values(list), (std::vector{1, 3, 2}));
  clear(list);
}

TEST(List, AnItemMayBeInOneListPerHook) {
  Item one(1);
  Item two(2);
  ListA a;
  ListB b;
  a.push_back(one);
  a.push_back(two);
  b.push_back(two);
  b.push_back(one);
  EXPECT_EQ(values(a), (std::vector{1, 2}));
  EXPECT_EQ(values(b), (std::vector{2, 1}));
  one.a().unlink();
  EXPECT_EQ(values(a), (std::vector{2}));
  EXPECT_EQ(values(b), (std::vector{2, 1}));
  clear(a);
  clear(b);
}

TEST(List, FindsTheFirstThatMatches) {
  Item one(1);
  Item two(2);
  Item four(4);
  ListA list;
  list.push_back(one);
  list.push_back(two);
  list.push_back(four);
  const auto even = [](const Item& item) { return item.value % 2 == 0; };
  EXPECT_EQ(list.find(even), &two);
  EXPECT_EQ(list.find([](const Item& item) { return item.value > 9; }), nullptr);
  clear(list);
}

TEST(List, EachMayUnlinkWhatItVisits) {
  Item one(1);
  Item two(2);
  Item three(3);
  ListA list;
  list.push_back(one);
  list.push_back(two);
  list.push_back(three);
  list.each([](Item& item) {
    if (item.value != 2) item.a().unlink();
  });
  EXPECT_EQ(values(list), (std::vector{2}));
  clear(list);
}

TEST(List, CopiesOfAnItemAreInNoList) {
  Item one(1);
  ListA list;
  list.push_back(one);
  Item copy(one);
  EXPECT_FALSE(copy.a().linked());
  Item other(5);
  one = other;
  EXPECT_TRUE(one.a().linked()) << "assignment changes the value, not the membership";
  EXPECT_EQ(values(list), (std::vector{5}));
  clear(list);
}

TEST(ListDeathTest, RefusesAnItemTwiceAndAnEndWithItems) {
  EXPECT_DEATH(
      {
        Item one(1);
        ListA list;
        list.push_back(one);
        list.push_back(one);
      },
      "linked");
  EXPECT_DEATH(
      {
        Item one(1);
        ListA list;
        list.push_back(one);
      },
      "a list was destroyed with items in it");
}

}  // namespace
}  // namespace shoal
