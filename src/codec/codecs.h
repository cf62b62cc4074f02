// Private to src/codec: the codecs by name, a file each. make_codec (codec/encoding.h) chooses.
#pragma once

#include <memory>

#include "base/wide.h"
#include "codec/codec.h"

namespace shoal {

std::unique_ptr<Codec> make_plain();
std::unique_ptr<Codec> make_fp16(Width width);
std::unique_ptr<Codec> make_bf16(Width width);
std::unique_ptr<Codec> make_fixed16(std::uint32_t before_point, Width width);
std::unique_ptr<Codec> make_flexpoint(Width width);
std::unique_ptr<Codec> make_onebit(Width width);
std::unique_ptr<Codec> make_twobit(double theta, Width width);
std::unique_ptr<Codec> make_terngrad(Width width);
std::unique_ptr<Codec> make_qsgd(std::uint32_t levels, Width width);
std::unique_ptr<Codec> make_qsgd_elias(std::uint32_t levels, Width width);
std::unique_ptr<Codec> make_dorefa(std::uint32_t bits, Width width);
std::unique_ptr<Codec> make_strom(double theta, Width width);
std::unique_ptr<Codec> make_dryden(double ratio, Width width);
std::unique_ptr<Codec> make_adacomp(std::uint32_t bin, Width width);
std::unique_ptr<Codec> make_topk(double ratio, Width width);
// `scaled`: so that the mean is right, as without error feedback.
std::unique_ptr<Codec> make_randomk(double ratio, bool scaled, Width width);
std::unique_ptr<Codec> make_zstd(std::unique_ptr<Codec> inner);

}  // namespace shoal
