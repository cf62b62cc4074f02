// Predicates on encodings, for rules_*.cc.
#pragma once

#include <algorithm>

#include "recipe/recipe.h"

namespace shoal {

inline bool has_lists(const Encoding& e) { return traits(e).lists; }
// Kylix sends only nonzero elements, so decoding must return zero for zero.
inline bool leaves_zeros(const Encoding& e) { return traits(e).leaves_zeros || traits(e).lists; }
inline bool chooses(const auto& r) { return traits(r.encode.as).chooses; }
template <class Kind, class Test>
bool some_encoding(const Kind& r, Test test) {
  return test(r.encode.as) || std::ranges::any_of(r.encode.layers, test, &LayerEncoding::as);
}
inline bool is_of_steps(const Encoding& e) { return traits(e).of_whole_steps(); }
inline bool keeps_residual(const Encoding& e) { return e.feedback; }
inline bool draws(const Encoding& e) { return traits(e).draws; }
inline bool is_for_models(const Encoding& e) { return !e.feedback && !examples(e).models.empty(); }
inline void encode_by_signs(auto& r, bool (*some)(const Encoding&)) {
  const Encoding signs{.method = Onebit{}, .feedback = true};
  if (some(r.encode.as)) r.encode.as = signs;
  for (LayerEncoding& one : r.encode.layers)
    if (some(one.as)) one.as = signs;
}

}  // namespace shoal
