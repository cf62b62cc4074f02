// An intrusive doubly linked list: no allocation, O(1) removal.
//
// An item may be in one list per hook it derives from; Name tells the hooks apart.
#pragma once

#include "base/check.h"

namespace shoal {

template <class T, class Name>
class List;

template <class Name>
class ListHook {
 public:
  ListHook() = default;
  // Copies and moves of an item are in no list; an item must not move while it is in one.
  ListHook(const ListHook&) {}
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): nothing is assigned.
  ListHook& operator=(const ListHook&) { return *this; }

  bool linked() const { return next_ != nullptr; }
  void unlink() {
    if (!linked()) return;
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = nullptr;
  }

 private:
  template <class T, class N>
  friend class List;
  ListHook* prev_ = nullptr;
  ListHook* next_ = nullptr;
};

// T derives from ListHook<Name>.
template <class T, class Name>
class List {
  using Hook = ListHook<Name>;

 public:
  List() { root_.prev_ = root_.next_ = &root_; }
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List() {
    SHOAL_CHECK(empty(), "a list was destroyed with items in it");
    root_.prev_ = root_.next_ = nullptr;
  }

  bool empty() const { return root_.next_ == &root_; }
  T& front() { return *static_cast<T*>(root_.next_); }
  void push_back(T& item) {
    Hook& hook = item;
    SHOAL_CHECK(!hook.linked());
    hook.prev_ = root_.prev_;
    hook.next_ = &root_;
    root_.prev_->next_ = &hook;
    root_.prev_ = &hook;
  }
  T& pop_front() {
    T& item = front();
    static_cast<Hook&>(item).unlink();
    return item;
  }
  // The first item in order of arrival that satisfies `matches`, or nullptr.
  template <class F>
  T* find(F matches) {
    for (Hook* hook = root_.next_; hook != &root_; hook = hook->next_) {
      T& item = *static_cast<T*>(hook);
      if (matches(item)) return &item;
    }
    return nullptr;
  }
  template <class F>
  bool any(F matches) const {
    for (const Hook* hook = root_.next_; hook != &root_; hook = hook->next_)
      if (matches(*static_cast<const T*>(hook))) return true;
    return false;
  }
  // Visits every item; `visit` may unlink only the item that it is given.
  template <class F>
  void each(F visit) {
    for (Hook* hook = root_.next_; hook != &root_;) {
      Hook* next = hook->next_;
      visit(*static_cast<T*>(hook));
      hook = next;
    }
  }

 private:
  Hook root_;
};

}  // namespace shoal
