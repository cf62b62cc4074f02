// What compatibility.cc asks of a recipe's encodings. Private to that file.
#pragma once

#include <algorithm>

#include "recipe/recipe.h"

namespace shoal {

inline bool has_lists(const Encoding& e) { return traits(e).lists; }
// Kylix sends what is not zero: numbers that were zero must come back as zero.
inline bool leaves_zeros(const Encoding& e) { return traits(e).leaves_zeros || traits(e).lists; }
inline bool chooses(const Recipe& r) { return traits(r.encode.as).chooses; }
template <class Test>
bool some_encoding(const Recipe& r, Test test) {
  return test(r.encode.as) || std::ranges::any_of(r.encode.layers, test, &LayerEncoding::as);
}
inline bool is_of_steps(const Encoding& e) { return traits(e).of_whole_steps(); }
inline bool keeps_residual(const Encoding& e) { return e.feedback; }
inline bool draws(const Encoding& e) { return traits(e).draws; }
inline bool is_for_models(const Encoding& e) { return !e.feedback && !examples(e).models.empty(); }
inline void encode_by_signs(Recipe& r, bool (*some)(const Encoding&)) {
  const Encoding signs{.method = Onebit{}, .feedback = true};
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
