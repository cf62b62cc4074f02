// The list of encodings. A new one is a file of its own (codec/traits.h says what it consists of)
// and a line in either list here; flags, tables, benchmarks, rules and draws follow.
#pragma once

#include <variant>

#include "codec/adacomp.h"
#include "codec/auto.h"
#include "codec/dgc.h"
#include "codec/dorefa.h"
#include "codec/dryden.h"
#include "codec/fixed16.h"
#include "codec/flexpoint.h"
#include "codec/fp32.h"
#include "codec/half.h"
#include "codec/onebit.h"
#include "codec/poseidon.h"
#include "codec/powersgd.h"
#include "codec/qsgd.h"
#include "codec/randomk.h"
#include "codec/sfb.h"
#include "codec/strom.h"
#include "codec/terngrad.h"
#include "codec/topk.h"
#include "codec/twobit.h"

namespace shoal {

// Tables have this order. The first one does not encode.
using EncodingMethod =
    std::variant<Fp32, Fp16, Bf16, Fixed16, Flexpoint, Onebit, Twobit, Terngrad, Qsgd, Dorefa,
                 Strom, Dryden, Adacomp, Topk, Randomk, Dgc, Powersgd, Sfb, Poseidon, AutoEncoding>;

}  // namespace shoal
