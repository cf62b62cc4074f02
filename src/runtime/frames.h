// Memory of coroutine frames and other objects that every message creates and destroys: millions,
// in few sizes. A freed block is kept for the next one of its size by the thread that freed it,
// until that thread ends.
#pragma once

#include <cstddef>

namespace shoal::detail {

void* take_frame(std::size_t size);
void give_back_frame(void* frame, std::size_t size) noexcept;

}  // namespace shoal::detail
