// Which known word did the user mean?
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace shoal {

// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// A sentence that helps: "Did you mean 'swarm'?" when a word is near, else the list of all words.
std::string suggest(std::string_view word, std::span<const std::string> known);

}  // namespace shoal
