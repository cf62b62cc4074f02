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
    case Encoding::Kind::Onebit: return make_onebit(width);
    case Encoding::Kind::Topk:
    case Encoding::Kind::Dgc: return make_topk(e.ratio, width);
    default: break;
  }
  SHOAL_CHECK(false, "{} has no codec: ask has_codec first", to_string(e));
  return nullptr;
}

}  // namespace

std::unique_ptr<Codec> make_codec(const Encoding& encoding, Width width) {
  return make_kind(encoding, width);
}

}  // namespace shoal
