// Memory for arrays that are walked from end to end, step after step.
#pragma once

#include <cstddef>
#include <memory>

namespace shoal {

// Zeroed, aligned to a cache line, in large pages where there is enough of it: an update that walks
// five arrays at once would miss the translation cache with every other page of 4 KiB. Pages that
// are never written take no memory. Throws std::bad_alloc.
std::shared_ptr<std::byte> allocate_zeroed(std::size_t bytes);

// The same in pages of its own, from where a large one can begin: memory that is shared with others
// can be put in their place.
std::shared_ptr<std::byte> allocate_pages(std::size_t bytes);
// Puts the pages of shared memory (mapped MAP_SHARED) `there` also at `room`, whole pages of it
// only, and says how many bytes; 0 where they are not shared or do not begin with a page, and
// nothing has changed. REQUIRES: `room` lies in allocate_pages().
std::size_t show_pages(std::byte* room, const std::byte* there, std::size_t bytes);
// Puts zeroed pages there again. REQUIRES: show_pages() said so many bytes.
void clear_pages(std::byte* room, std::size_t bytes);

}  // namespace shoal
