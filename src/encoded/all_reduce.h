// Sums of encoded gradients over the members of a group, by one of these algorithms (the form):
//
//   gather   each member sends its encoded gradient to all others; each sums all messages
//   direct   part k is sent, encoded, to member k, which sums and sends the sum, encoded again
//   ring     part k goes around; each member decodes it, adds its own and encodes again; the sum
//            goes around once more without new encoding (Patarasuk & Yuan 2009)
//   halving-doubling   the same with partners at halving distances (Rabenseifner 2004); where P is
//            no power of two the members beyond give all they have to one below, first
//   sparse   lists of positions and values, merged by partners at doubling distances: the exact
//            sum of encoded gradients; full ranges as soon as these are shorter (sparse.h)
//   kylix    the same sum, of lists whose positions persist from step to step: positions are sent
//            when they have changed, otherwise only values (kylix.h)
//
// Cost for a codec of c bytes an element: gather (P-1) c N each way; direct, ring and
// halving-doubling 2(P-1)/P c N, with P, P and log2 P roundings on the way of an element.
// All members decode the same bytes in the same order, so all get the same bits. Every element is
// encoded once by each member (encoder.h).
// Failure: as any collective; then the range is undefined, and the encoder keeps its state.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/names.h"
#include "collective/group.h"
#include "encoded/encoder.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

enum class EncodedForm : std::uint8_t {
  Auto,
  Gather,
  Direct,
  Ring,
  HalvingDoubling,
  Sparse,
  Kylix
};
inline constexpr std::size_t kEncodedForms = count_up_to(EncodedForm::Kylix);
std::string_view to_string(EncodedForm form);
EncodedForm parse_encoded_form(std::string_view name);  // an unknown one is a ConfigError

// The form that Auto chooses among P members: the one that sends the fewest bytes.
EncodedForm form_for(const Encoding& encoding, std::uint64_t P);

// Whether all of a range is encoded at once, so that it may be where backward makes it.
inline bool encodes_whole(EncodedForm form) {
  return form == EncodedForm::Gather || form == EncodedForm::Sparse || form == EncodedForm::Kylix;
}

// On return g holds the sum over all members of what was encoded, with the same bits everywhere.
// Pieces that the encoder has taken are not encoded again (gather, sparse, kylix).
// REQUIRES: the same form, other than Auto, operation and range on all members.
Task<void> encoded_all_reduce(EncodedForm form, const Group& group, Encoder& encoder, Range g,
                              std::uint64_t operation);

}  // namespace shoal
