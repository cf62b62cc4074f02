// A value that knows whether it is alive: it counts constructions and destructions, and notices a
// second destruction and a use after the first, even if the memory is not freed in between.
#pragma once

#include <set>

namespace shoal {

class Tracked {
 public:
  explicit Tracked(int value) : value_(value) { born(); }
  Tracked(const Tracked& other) : value_(other.value()) { born(); }
  Tracked(Tracked&& other) noexcept : value_(other.value()) { born(); }
  Tracked& operator=(const Tracked& other) {
    value();
    value_ = other.value();
    return *this;
  }
  ~Tracked() {
    if (ledger().alive.erase(this) == 0) ++ledger().destroyed_twice;
  }
  int value() const {
    if (!ledger().alive.contains(this)) ++ledger().used_dead;
    return value_;
  }

  struct Ledger {
    std::set<const void*> alive;
    int made = 0;
    int made_over_alive = 0;
    int destroyed_twice = 0;
    int used_dead = 0;
    bool clean() const { return made_over_alive + destroyed_twice + used_dead == 0; }
  };
  static Ledger& ledger() {
    static Ledger instance;
    return instance;
  }

 private:
  void born() {
    ++ledger().made;
    if (!ledger().alive.insert(this).second) ++ledger().made_over_alive;
  }
  int value_;
};

}  // namespace shoal
