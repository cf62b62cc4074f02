#include "encoded/encode.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"

namespace shoal {
namespace {

bool fits(std::string_view layer, std::string_view tensor) {
  if (layer.ends_with('*')) return tensor.starts_with(layer.substr(0, layer.size() - 1));
  return tensor.starts_with(layer) &&
         (tensor.size() == layer.size() || tensor[layer.size()] == '.');
}

// Tensors, and what they are parts of.
std::vector<std::string> layer_names(const Layout& layout) {
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  };
  for (const TensorEntry& tensor : layout.parameter_tensors()) {
    if (const std::size_t point = tensor.name.rfind('.'); point != std::string::npos)
      add(tensor.name.substr(0, point));
    add(tensor.name);
  }
  return names;
}

}  // namespace

void parse_encode(std::string_view text, Encode& encode) {
  Encode read;
  std::string_view remaining = text;
  for (bool first = true; first || !remaining.empty(); first = false) {
    const std::size_t comma = remaining.find(',');
    const std::string_view one = remaining.substr(0, comma);
    remaining = comma == std::string_view::npos ? std::string_view() : remaining.substr(comma + 1);
    const std::size_t is = one.find('=');
    if (is == std::string_view::npos && !first)
      throw ConfigError(fmt::format(
          "--encode {}: '{}' has no layer; write LAYER={}, as fc1=topk:0.01+ef", text, one, one));
    if (is == std::string_view::npos) {
      read.as = parse_encoding(one);
    } else if (is == 0) {
      throw ConfigError(
          fmt::format("--encode {}: there is no name of a layer before '{}'", text, one));
    } else {
      read.layers.push_back({std::string(one.substr(0, is)), parse_encoding(one.substr(is + 1))});
    }
  }
  encode.as = read.as;
  encode.layers = std::move(read.layers);
}

std::string encode_text(const Encode& encode) {
  std::string text;
  if (encode.as != Encoding() || encode.layers.empty()) text = to_string(encode.as);
  for (const LayerEncoding& one : encode.layers)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", one.layer, to_string(one.as));
  return text;
}

EncodedForm form_of(const Encode& encode, std::uint64_t P) {
  if (encode.by != EncodedForm::Auto) return encode.by;
  const EncodedForm form = form_for(encode.as, P);
  const bool alike = std::ranges::all_of(
      encode.layers, [&](const LayerEncoding& one) { return form_for(one.as, P) == form; });
  return alike ? form : EncodedForm::Direct;
}

std::vector<Encoding> encodings_of(const Encode& encode, const Learner& learner) {
  const std::span<const TensorEntry> tensors = learner.layout().parameter_tensors();
  for (const LayerEncoding& one : encode.layers)
    if (std::ranges::none_of(tensors,
                             [&](const TensorEntry& t) { return fits(one.layer, t.name); }))
      throw ConfigError(fmt::format("--encode {}={}: the model has no such layer. {}", one.layer,
                                    to_string(one.as),
                                    suggest(one.layer, layer_names(learner.layout()))));
  std::vector<Encoding> all;
  for (const Cut& piece : learner.pieces()) {
    const auto behind = std::ranges::upper_bound(tensors, piece.at, {}, &TensorEntry::at);
    std::string_view name;
    if (behind != tensors.begin()) name = std::prev(behind)->name;
    const auto own = std::ranges::find_if(
        encode.layers, [&](const LayerEncoding& one) { return fits(one.layer, name); });
    all.push_back(own == encode.layers.end() ? encode.as : own->as);
  }
  return all;
}

}  // namespace shoal
