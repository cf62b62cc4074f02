#include "checkpoint/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "base/error.h"

namespace shoal {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::string_view kMetadataKey = "__metadata__";
constexpr Dtype kDtypes[] = {Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::I64,
                             Dtype::I32, Dtype::I16, Dtype::I8,  Dtype::U8,   Dtype::Bool};

// A name for an error message: a hostile one may be as long as the header.
std::string shown(std::string_view text) {
  constexpr std::size_t kMax = 200;
  return nlohmann::json(text.substr(0, kMax))
             .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
         (text.size() > kMax ? ".." : "");
}

std::string json_string(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw ConfigError(fmt::format(
        "{}, the name of a tensor or of metadata, is not UTF-8; rename it", shown(text)));
  }
}

// The header's entry for a tensor.
struct Entry {
  TensorInfo info;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Parses the header in events, so that a hostile one takes no more memory than it describes.
// Levels: 1 the names, 2 an entry, 3 its lists.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  std::vector<Entry> entries;
  SafetensorsMetadata metadata;

  bool null() override { return unexpected("null"); }
  bool boolean(bool value) override { return unexpected(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return unexpected(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return unexpected(text); }
  bool binary(binary_t&) override { return unexpected("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (level_ != 3) return unexpected(std::to_string(value));
    if (value > static_cast<std::uint64_t>(INT64_MAX))
      fail(fmt::format("{} has the number {}, which is too large", field_, value));
    numbers_.push_back(value);
    return true;
  }
  bool string(string_t& value) override {
    if (level_ == 2 && in_metadata_) {
      if (!metadata.emplace(field_, value).second)
        fail(fmt::format("the key {} is repeated", shown(field_)));
    } else if (level_ == 2 && field_ == "dtype") {
      entries.back().info.dtype = to_dtype(value);
    } else {
      return unexpected(shown(value));
    }
    return true;
  }
  bool start_object(std::size_t) override {
    if (level_ >= 2) return unexpected("an object");
    ++level_;
    fields_.clear();
    return true;
  }
  bool end_object() override {
    if (level_ == 2 && !in_metadata_)
      for (const char* field : {"dtype", "shape", "data_offsets"})
        if (!fields_.contains(field)) fail(fmt::format("{} is missing", field));
    --level_;
    return true;
  }
  bool key(string_t& value) override {
    if (level_ == 1) {
      tensor_ = value;
      field_.clear();
      in_metadata_ = value == kMetadataKey;
      if (!names_.insert(value).second) fail("is repeated");
      if (!in_metadata_) {
        entries.emplace_back();
        entries.back().info.name = value;
      }
      return true;
    }
    field_ = value;
    if (in_metadata_) return true;
    if (value != "dtype" && value != "shape" && value != "data_offsets")
      fail(fmt::format("has the key {}, which the format does not know", shown(value)));
    if (!fields_.insert(value).second) fail(fmt::format("{} is repeated", value));
    return true;
  }
  bool start_array(std::size_t) override {
    if (level_ != 2 || in_metadata_ || field_ == "dtype") return unexpected("a list");
    ++level_;
    numbers_.clear();
    return true;
  }
  bool end_array() override {
    --level_;
    Entry& entry = entries.back();
    if (field_ == "shape") {
      entry.info.shape.assign(numbers_.begin(), numbers_.end());
      return true;
    }
    if (numbers_.size() != 2)
      fail(fmt::format("data_offsets has {} numbers instead of 2", numbers_.size()));
    entry.begin = numbers_[0];
    entry.end = numbers_[1];
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    throw Corrupt(fmt::format("{}: the header is not JSON from its byte {} on", file_, at));
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Corrupt(fmt::format("{}: tensor {}: {}", file_, shown(tensor_), what));
  }
  bool unexpected(std::string_view value) const {
    if (tensor_.empty() && level_ == 0)
      throw Corrupt(fmt::format("{}: the header is {} instead of an object", file_, value));
    fail(fmt::format("{} cannot be {}", field_.empty() ? "it" : field_, value));
  }
  Dtype to_dtype(const std::string& text) const {
    for (const Dtype dtype : kDtypes)
      if (text == to_string(dtype)) return dtype;
    throw DataError(
        fmt::format("{}: tensor {} has the unknown dtype {}; convert it, for example to F32", file_,
                    shown(tensor_), shown(text)));
  }

  const std::string& file_;
  int level_ = 0;
  bool in_metadata_ = false;
  std::string tensor_;
  std::string field_;
  std::set<std::string> names_;
  std::set<std::string> fields_;
  std::vector<std::uint64_t> numbers_;
};

std::uint64_t bytes_of(const TensorInfo& info, const std::string& file) {
  std::uint64_t bytes = size_of(info.dtype);
  for (const std::int64_t d : info.shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(d), &bytes))
      throw Corrupt(fmt::format("{}: tensor {}: its shape is too large", file, shown(info.name)));
  return bytes;
}

// The length of the header. REQUIRES: there are kLengthBytes bytes.
std::uint64_t length_of(std::span<const std::byte> bytes) {
  std::uint64_t n = 0;
  for (unsigned i = 0; i < kLengthBytes; ++i) n |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  return n;
}

// The JSON, after which only spaces may follow.
std::string_view header_of(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() < kLengthBytes)
    throw Corrupt(
        fmt::format("{} has {} bytes: too short for a safetensors file", file, bytes.size()));
  const std::uint64_t n = length_of(bytes);
  if (n > kSafetensorsHeaderMax || n > bytes.size() - kLengthBytes)
    throw Corrupt(
        fmt::format("{} claims a header of {} bytes and has {} in total; it is cut off, or not a "
                    "safetensors file",
                    file, n, bytes.size()));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, n);
  if (!text.starts_with('{'))
    throw Corrupt(fmt::format("{}: the header does not begin with a brace", file));
  const std::size_t last = text.find_last_not_of(' ');
  return text.substr(0, last + 1);
}

}  // namespace

std::string describe(const TensorInfo& tensor) {
  constexpr std::size_t kDimensionsShown = 16;
  std::string text = fmt::format("{} [", to_string(tensor.dtype));
  for (std::size_t d = 0; d < std::min(tensor.shape.size(), kDimensionsShown); ++d)
    text += fmt::format("{}{}", d == 0 ? "" : ", ", tensor.shape[d]);
  return text + (tensor.shape.size() > kDimensionsShown ? ", ..]" : "]");
}

std::string safetensors_header(std::span<const TensorInfo> tensors,
                               const SafetensorsMetadata& metadata) {
  std::string json = "{";
  const auto begin_entry = [&](const std::string& name) {
    json += fmt::format("{}{}:{{", json.size() == 1 ? "" : ",", json_string(name));
  };
  if (!metadata.empty()) {
    begin_entry(std::string(kMetadataKey));
    for (const auto& [key, value] : metadata)
      json += fmt::format("{}{}:{}", json.ends_with('{') ? "" : ",", json_string(key),
                          json_string(value));
    json += "}";
  }
  std::set<std::string_view> names;
  std::uint64_t at = 0;
  for (const TensorInfo& t : tensors) {
    if (t.name == kMetadataKey)
      throw ConfigError(fmt::format("a tensor cannot have the name {}; rename it", kMetadataKey));
    SHOAL_CHECK(names.insert(t.name).second, "two tensors have the name {}", t.name);
    begin_entry(t.name);
    json += fmt::format("\"dtype\":\"{}\",\"shape\":[", to_string(t.dtype));
    for (std::size_t d = 0; d < t.shape.size(); ++d)
      json += fmt::format("{}{}", d == 0 ? "" : ",", t.shape[d]);
    const std::uint64_t end = at + count(t.shape) * size_of(t.dtype);
    json += fmt::format("],\"data_offsets\":[{},{}]}}", at, end);
    at = end;
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > kSafetensorsHeaderMax)
    throw ConfigError(fmt::format("{} tensors need a header of {} bytes, the format allows {}",
                                  tensors.size(), json.size(), kSafetensorsHeaderMax));
  std::string length;
  for (unsigned i = 0; i < kLengthBytes; ++i)
    length += static_cast<char>(json.size() >> (8 * i) & 0xffU);
  return length + json;
}

const SafeTensor* SafetensorsView::find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(tensors, [&](const SafeTensor& t) { return t.info.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

SafetensorsView parse_safetensors(std::span<const std::byte> bytes, const std::string& file) {
  const std::string_view text = header_of(bytes, file);
  HeaderReader reader(file);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  if (!text.ends_with('}'))
    throw Corrupt(fmt::format("{}: other characters than spaces follow the header", file));
  std::vector<Entry>& entries = reader.entries;
  std::ranges::stable_sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });

  SafetensorsView view;
  view.metadata = std::move(reader.metadata);
  view.tensors.reserve(entries.size());
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + length_of(bytes));
  std::uint64_t at = 0;
  for (Entry& e : entries) {
    const auto fail = [&](std::string_view what) {
      throw Corrupt(fmt::format("{}: tensor {} at bytes {} to {}: {}", file, shown(e.info.name),
                                e.begin, e.end, what));
    };
    if (e.begin < at) fail(fmt::format("overlaps the tensor before it, which ends at {}", at));
    if (e.begin > at) fail(fmt::format("there is a hole of {} bytes before it", e.begin - at));
    const std::uint64_t needed = bytes_of(e.info, file);
    if (e.end < e.begin || e.end - e.begin != needed)
      fail(fmt::format("{} needs {} bytes", describe(e.info), needed));
    if (e.end > data.size())
      fail(fmt::format("the file has only {} bytes of data; it is cut off", data.size()));
    at = e.end;
    view.tensors.push_back({std::move(e.info), data.subspan(e.begin, needed)});
  }
  if (at != data.size())
    throw Corrupt(fmt::format("{} has {} bytes after the last tensor", file, data.size() - at));
  return view;
}

}  // namespace shoal
