// Private to src/codec: the codecs by name, a file each. make_codec (codec/encoding.h) chooses.
#pragma once

#include <memory>

#include "base/wide.h"
#include "codec/codec.h"

namespace shoal {

std::unique_ptr<Codec> make_plain();
std::unique_ptr<Codec> make_fp16(Width width);
std::unique_ptr<Codec> make_bf16(Width width);
std::unique_ptr<Codec> make_onebit(Width width);
std::unique_ptr<Codec> make_topk(double ratio, Width width);

}  // namespace shoal
