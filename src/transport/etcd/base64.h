// Base64 (RFC 4648, with padding): the form of keys and values in etcd's JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shoal {

std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);  // empty: it is malformed

}  // namespace shoal
