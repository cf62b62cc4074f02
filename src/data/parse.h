// Parses numbers and words in files and specs; private to this layer.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/file_view.h"

namespace shoal {

inline std::string_view text_of(const FileView& file) {
  return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

std::string_view trimmed(std::string_view text);  // without spaces and tabs on both sides
// Parses a number, possibly with spaces around it or a plus before it; the first function also
// accepts infinity and NaN. Empty for other text.
std::optional<double> read_number(std::string_view text);
std::optional<std::uint64_t> read_count(std::string_view text);
// Quoted for a message: long text is cut, unprintable characters are escaped.
std::string shown(std::string_view text);

// Converts a number of a file to 32 bits. Returns the problem, or nothing after setting `value`.
std::optional<std::string> float_objection(std::string_view text, double& value);

// "a=1,b=2": the options of a spec. The reader asks for each key once, then calls finish(), which
// refuses the other keys.
class SpecKeys {
 public:
  // `of` names the spec in messages. Throws ConfigError for a part without '=' and for a repeated
  // key.
  SpecKeys(std::string of, std::string_view text, char separator);

  std::uint64_t count(const std::string& key, std::uint64_t otherwise, std::uint64_t lo,
                      std::uint64_t hi);
  double number(const std::string& key, double otherwise, double lo, double hi);
  std::optional<std::string> word(const std::string& key);
  void finish() const;

 private:
  std::string of_;
  std::map<std::string, std::string> values_;
  std::vector<std::string> asked_;
};

// "FILE:key=value:key=value": the path, which may contain colons, and the options after it.
struct FileSpec {
  std::string path;
  std::string_view keys;
};
FileSpec split_file_spec(std::string_view rest);

}  // namespace shoal
