// The settings of Encode by name, for each recipe that has one.
#pragma once

#include "base/choice.h"
#include "encoded/encode.h"

namespace shoal {

Setting encode_setting(Encode& encode, std::string_view help);
Setting encoded_by_setting(Encode& encode);
Setting encode_after_setting(Encode& encode);

}  // namespace shoal
