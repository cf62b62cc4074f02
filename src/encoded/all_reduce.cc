#include "encoded/all_reduce.h"

#include <fmt/core.h>

#include <bit>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "encoded/forms.h"

namespace shoal {
namespace {

constexpr std::array<std::string_view, kEncodedForms> kNames = {
    "auto", "gather", "direct", "ring", "halving-doubling", "sparse", "kylix"};

}  // namespace

std::string_view to_string(EncodedForm form) { return kNames[static_cast<std::size_t>(form)]; }

EncodedForm parse_encoded_form(std::string_view name) {
  for (std::size_t i = 0; i < kEncodedForms; ++i)
    if (kNames[i] == name) return static_cast<EncodedForm>(i);
  const std::vector<std::string> known(kNames.begin(), kNames.end());
  throw ConfigError(fmt::format("unknown --encoded-by '{}'. {}", name, suggest(name, known)));
}

EncodedForm form_for(const Encoding& encoding, std::uint64_t P) {
  if (P <= 2 || !has_codec(encoding)) return EncodedForm::Gather;
  return make_codec(encoding)->sparse() ? EncodedForm::Sparse : EncodedForm::Direct;
}

Task<void> encoded_all_reduce(EncodedForm form, const Group& group, Encoder& encoder, Range g,
                              std::uint64_t operation) {
  switch (form) {
    case EncodedForm::Gather: return encoded_gather(group, encoder, g, operation);
    case EncodedForm::Direct: return encoded_direct(group, encoder, g, operation);
    case EncodedForm::Ring: return encoded_ring(group, encoder, g, operation);
    case EncodedForm::HalvingDoubling:
      return encoded_halving_doubling(group, encoder, g, operation);
    case EncodedForm::Sparse: return encoded_sparse(group, encoder, g, operation);
    case EncodedForm::Kylix: return encoded_kylix(group, encoder, g, operation);
    case EncodedForm::Auto: break;
  }
  SHOAL_CHECK(false, "the form was not chosen: see form_for");
  return encoded_gather(group, encoder, g, operation);
}

}  // namespace shoal
