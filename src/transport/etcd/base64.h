// Base64 (RFC 4648, with padding): how etcd's JSON carries keys and values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shoal {

std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);  // nothing: it is no base64

}  // namespace shoal
