#include "recipe/criteria.h"

#include "recipe/axes.h"

namespace shoal {

const Criteria& criteria_of(const Recipe& recipe) {
  static constexpr Criteria kCentralSync{"central, synchronous", false, "higher", 1, 1, 1, "easy"};
  static constexpr Criteria kCentralAsync{"central, asynchronous", true, "lower", 3, 2, 3, "hard"};
  static constexpr Criteria kDecentralSync{
      "decentral, synchronous", true, "likely higher", 1, 2, 2, "easy"};
  static constexpr Criteria kDecentralAsync{
      "decentral, asynchronous", true, "lower", 2, 3, 3, "hard"};
  bool decentral = false, sync = false;
  for (const auto& [axis, choice] : axes_of(recipe)) {
    if (axis == "optimization") decentral = choice == "decentral";
    if (axis == "schedule") sync = choice == "sync";
  }
  if (decentral) return sync ? kDecentralSync : kDecentralAsync;
  return sync ? kCentralSync : kCentralAsync;
}

}  // namespace shoal
