#include "recipe/registry.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "recipe/registry_families.h"

namespace shoal {
namespace {

std::vector<System> make_systems() {
  std::vector<System> all = synchronous_systems();
  std::ranges::move(served_systems(), std::back_inserter(all));
  std::ranges::move(decentral_systems(), std::back_inserter(all));
  std::ranges::stable_sort(all.begin() + 1, all.end(), {}, &System::year);
  return all;
}

}  // namespace

std::span<const System> systems() {
  static const std::vector<System> kAll = make_systems();
  return kAll;
}

}  // namespace shoal
