// What compatibility.cc asks of a recipe's encodings. Private to that file.
#pragma once

#include <algorithm>

#include "recipe/recipe.h"

namespace shoal {

inline bool has_lists(const Encoding& e) { return has_codec(e) && make_codec(e)->sparse(); }
// What is zero stays zero, and is not sent as a number.
inline bool leaves_zeros(const Encoding& e) {
  return e.kind == Encoding::Kind::Fp16 || e.kind == Encoding::Kind::Bf16 || has_lists(e);
}
inline bool chooses(const Recipe& r) { return r.encode.as.kind == Encoding::Kind::Auto; }
template <class Test>
bool some_encoding(const Recipe& r, Test test) {
  return test(r.encode.as) || std::ranges::any_of(r.encode.layers, test, &LayerEncoding::as);
}
// More than a form of what is sent: rounds of factors, sums of momentum, a choice by links.
inline bool is_of_steps(const Encoding& e) {
  return !has_codec(e) || e.kind == Encoding::Kind::Dgc;
}
inline bool keeps_rest(const Encoding& e) { return e.feedback; }
inline bool draws(const Encoding& e) {
  return e.kind == Encoding::Kind::Randomk ||
         (e.kind != Encoding::Kind::Fp32 && has_codec(e) && make_codec(e)->unbiased());
}
inline bool is_for_models(const Encoding& e) {
  using Kind = Encoding::Kind;
  return !e.feedback && (e.kind == Kind::Fp32 || e.kind == Kind::Fp16 || e.kind == Kind::Bf16 ||
                         e.kind == Kind::Qsgd);
}
inline void encode_by_signs(Recipe& r, bool (*some)(const Encoding&)) {
  const Encoding signs{.kind = Encoding::Kind::Onebit, .feedback = true};
  if (some(r.encode.as)) r.encode.as = signs;
  for (LayerEncoding& one : r.encode.layers)
    if (some(one.as)) one.as = signs;
}
inline bool sums_models(const Recipe& r) {
  return r.peering.algorithm == Algorithm::Average || r.peering.algorithm == Algorithm::Block;
}
inline bool mixes_encoded(const Recipe& r) {
  return encodes(r) && r.updater == Updater::Decentral &&
         r.peering.algorithm == Algorithm::Neighbours;
}

}  // namespace shoal
