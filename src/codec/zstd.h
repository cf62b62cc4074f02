// +zstd: what another codec wrote, compressed once more, without loss. Pays where codes repeat:
// many zeros, gaps of few sizes. Takes memory of the other's bound for the time of a call.
#pragma once

#include <memory>

#include "codec/codec.h"

namespace shoal {

std::unique_ptr<Codec> make_zstd(std::unique_ptr<Codec> inner);

}  // namespace shoal
