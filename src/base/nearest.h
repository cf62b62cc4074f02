// Finds the known word that the user probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace shoal {

// The number of insertions, deletions, replacements and swaps of neighbours that turn one word into
// the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// A hint: "Did you mean 'swarm'?" if a similar word exists, else the list of all words.
std::string suggest(std::string_view word, std::span<const std::string> known);

}  // namespace shoal
