// Memory for arrays that are read or written from end to end in every step.
#pragma once

#include <cstddef>
#include <memory>

namespace shoal {

// Returns zeroed memory, aligned to a cache line, in large pages if it is long enough: with pages
// of 4 KiB an update that walks five arrays at once would miss the TLB at every other page. Pages
// that are never written take no memory. Throws std::bad_alloc.
std::shared_ptr<std::byte> allocate_zeroed(std::size_t bytes);

// The same in separate pages that begin at a large-page boundary, so that pages of shared memory
// can be mapped over them.
std::shared_ptr<std::byte> allocate_pages(std::size_t bytes);
// Maps the whole pages of the shared memory `there` (mapped MAP_SHARED) also at `room`. Returns the
// number of bytes, or 0 with no change if the memory is not shared or does not begin with a page.
// REQUIRES: `room` lies in allocate_pages().
std::size_t show_pages(std::byte* room, const std::byte* there, std::size_t bytes);
// Maps zeroed pages there again. REQUIRES: show_pages() returned this number of bytes.
void clear_pages(std::byte* room, std::size_t bytes);

}  // namespace shoal
