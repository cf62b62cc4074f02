#include "base/check.h"
#include "codec/codecs.h"
#include "codec/encoding.h"

namespace shoal {
namespace {

std::unique_ptr<Codec> make_kind(const Encoding& e, Width width) {
  switch (e.kind) {
    case Encoding::Kind::Fp32: return make_plain();
    case Encoding::Kind::Fp16: return make_fp16(width);
    case Encoding::Kind::Bf16: return make_bf16(width);
    case Encoding::Kind::Fixed16: return make_fixed16(e.bits, width);
    case Encoding::Kind::Flexpoint: return make_flexpoint(width);
    case Encoding::Kind::Onebit: return make_onebit(width);
    case Encoding::Kind::Twobit: return make_twobit(e.theta, width);
    case Encoding::Kind::Terngrad: return make_terngrad(width);
    case Encoding::Kind::Qsgd:
      return e.elias ? make_qsgd_elias(e.levels, width) : make_qsgd(e.levels, width);
    case Encoding::Kind::Dorefa: return make_dorefa(e.bits, width);
    case Encoding::Kind::Strom: return make_strom(e.theta, width);
    case Encoding::Kind::Dryden: return make_dryden(e.ratio, width);
    case Encoding::Kind::Adacomp: return make_adacomp(e.bin, width);
    case Encoding::Kind::Randomk: return make_randomk(e.ratio, !e.feedback, width);
    case Encoding::Kind::Topk:
    case Encoding::Kind::Dgc: return make_topk(e.ratio, width);
    case Encoding::Kind::Powersgd:
    case Encoding::Kind::Sfb:
    case Encoding::Kind::Poseidon:
    case Encoding::Kind::Auto: break;
  }
  SHOAL_CHECK(false, "{} has no codec: ask has_codec first", to_string(e));
  return nullptr;
}

}  // namespace

std::unique_ptr<Codec> make_codec(const Encoding& encoding, Width width) {
  std::unique_ptr<Codec> codec = make_kind(encoding, width);
  return encoding.zstd ? make_zstd(std::move(codec)) : std::move(codec);
}
std::unique_ptr<Codec> make_codec(const Encoding& encoding) {
  return make_codec(encoding, widest());
}

}  // namespace shoal
