#include "encoded/all_reduce.h"

#include "encoded/forms.h"

namespace shoal {
namespace {

constexpr auto kFormNames = names<EncodedForm>({{EncodedForm::Auto, "auto"},
                                                {EncodedForm::Gather, "gather"},
                                                {EncodedForm::Direct, "direct"},
                                                {EncodedForm::Ring, "ring"},
                                                {EncodedForm::HalvingDoubling, "halving-doubling"},
                                                {EncodedForm::Sparse, "sparse"},
                                                {EncodedForm::Kylix, "kylix"}});
static_assert(kFormNames.size() == kEncodedForms);

}  // namespace

std::string_view to_string(EncodedForm form) { return kFormNames.of(form); }

EncodedForm parse_encoded_form(std::string_view name) {
  return kFormNames.parse("--encoded-by", name);
}

EncodedForm form_for(const Encoding& encoding, std::uint64_t P) {
  if (P <= 2 || !has_codec(encoding)) return EncodedForm::Gather;
  return traits(encoding).lists ? EncodedForm::Sparse : EncodedForm::Direct;
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
