// The systems of each family (registry.h), by year.
#pragma once

#include <vector>

#include "recipe/registry.h"

namespace shoal {

std::vector<System> synchronous_systems();  // the default first
std::vector<System> served_systems();
std::vector<System> decentral_systems();

}  // namespace shoal
