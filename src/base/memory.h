// Memory for arrays that are walked from end to end, step after step.
#pragma once

#include <cstddef>
#include <memory>

namespace shoal {

// Zeroed, aligned to a cache line, in large pages where there is enough of it: an update that walks
// five arrays at once would miss the translation cache with every other page of 4 KiB. Pages that
// are never written take no memory. Throws std::bad_alloc.
std::shared_ptr<std::byte> allocate_zeroed(std::size_t bytes);

}  // namespace shoal
