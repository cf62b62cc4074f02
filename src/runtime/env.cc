#include "runtime/env.h"

#include <array>

namespace shoal {

std::string_view to_string(Work kind) {
  static constexpr std::array<std::string_view, kWorkKinds> kNames = {
      "forward", "backward", "reduce", "update", "encode", "decode", "copy", "io"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace shoal
