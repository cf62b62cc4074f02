#include "codec/encoding.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/wide.h"
#include "codec/zstd.h"

namespace shoal {
namespace {

static_assert(std::is_trivially_copyable_v<Encoding> && sizeof(Encoding) <= 32);

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw ConfigError(fmt::format("--encode {}: {}", text.substr(0, 200), why));
}

void add_suffix(std::string_view text, std::string_view suffix, Encoding& encoding) {
  bool* const flag = suffix == "ef"     ? &encoding.feedback
                     : suffix == "zstd" ? &encoding.zstd
                                        : nullptr;
  if (flag == nullptr)
    refuse(text, fmt::format("'+{}' is not known; there are +ef and +zstd", suffix));
  const bool understood = suffix == "ef" && traits(encoding).needs_residual;
  if (*flag && !understood) refuse(text, fmt::format("'+{}' is given twice", suffix));
  *flag = true;
}

void add_setting(EncodingRow& row, const Setting& setting) {
  std::string name(setting.name);
  if (setting.is_switch) {
    row.form += fmt::format("[:{}]", name);
    row.parameters.push_back(fmt::format("{}: {}", name, setting.help));
    return;
  }
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  row.form += setting.printed ? fmt::format(":{}", name) : fmt::format("[:{}]", name);
  row.parameters.push_back(fmt::format("{}: {}, {}", name, setting.help, setting.range));
}

template <class Method>
constexpr bool kMakesByWidth = requires(const Method& method) {
  method.make(Width());
};
template <class Method>
constexpr bool kMakesByFeedback = requires(const Method& method) {
  method.make(Width(), true);
};

}  // namespace

Encoding parse_encoding(std::string_view text) {
  const std::size_t plus = text.find('+');
  Encoding encoding{parse_choice<EncodingMethod>("--encode", text.substr(0, plus))};
  const EncodingTraits is = traits(encoding);
  encoding.feedback = is.needs_residual;
  if (text.ends_with('+')) refuse(text, "the '+' needs ef or zstd after it");
  for (std::size_t at = plus; at != std::string_view::npos;) {
    const std::size_t next = text.find('+', at + 1);
    add_suffix(text, text.substr(at + 1, next - at - 1), encoding);
    at = next;
  }
  if (encoding.feedback && !is.no_residual.empty()) refuse(text, is.no_residual);
  if (encoding.zstd && !is.no_zstd.empty()) refuse(text, is.no_zstd);
  return encoding;
}

std::string to_string(const Encoding& encoding) {
  std::string text = choice_text(encoding.method);
  if (encoding.feedback && !traits(encoding).needs_residual) text += "+ef";
  if (encoding.zstd) text += "+zstd";
  return text;
}

EncodingTraits traits(const Encoding& encoding) {
  return std::visit([](const auto& method) { return method.traits(); }, encoding.method);
}

EncodingExamples examples(const Encoding& encoding) {
  return std::visit([](const auto& method) { return method.kExamples; }, encoding.method);
}

bool has_codec(const Encoding& encoding) {
  return std::visit(
      []<class Method>(const Method&) { return kMakesByWidth<Method> || kMakesByFeedback<Method>; },
      encoding.method);
}

std::unique_ptr<Codec> make_codec(const Encoding& encoding, Width width) {
  std::unique_ptr<Codec> codec = std::visit(
      [&]<class Method>(const Method& method) -> std::unique_ptr<Codec> {
        if constexpr (kMakesByFeedback<Method>) return method.make(width, encoding.feedback);
        if constexpr (kMakesByWidth<Method>) return method.make(width);
        return nullptr;
      },
      encoding.method);
  SHOAL_CHECK(codec != nullptr, "{} has no codec: ask has_codec first", to_string(encoding));
  return encoding.zstd ? make_zstd(std::move(codec)) : std::move(codec);
}

std::unique_ptr<Codec> make_codec(const Encoding& encoding) {
  return make_codec(encoding, widest());
}

Encoding at_epoch(const Encoding& encoding, double epoch) {
  Encoding then = encoding;
  std::visit(
      [&](auto& method) {
        if constexpr (requires { method.at_epoch(epoch); }) method = method.at_epoch(epoch);
      },
      then.method);
  return then;
}

const std::vector<EncodingRow>& encoding_rows() {
  static const std::vector<EncodingRow> kRows = [] {
    std::vector<EncodingRow> rows;
    for_each_alternative<EncodingMethod>([&](auto method) {
      EncodingRow& row = rows.emplace_back(EncodingRow{.form = std::string(method.kName),
                                                       .help = method.kHelp,
                                                       .parameters = {},
                                                       .traits = method.traits(),
                                                       .examples = method.kExamples});
      for (const Setting& setting : settings_of(method)) add_setting(row, setting);
    });
    return rows;
  }();
  return kRows;
}

std::vector<std::string> swarm_encodings(std::uint8_t SwarmExample::*turn) {
  const bool pulls = turn == &SwarmExample::pulls;
  std::vector<std::pair<std::uint8_t, std::string>> drawn;
  for (const EncodingRow& row : encoding_rows())
    if (const std::uint8_t own = row.examples.swarm.*turn; own > 0)
      drawn.emplace_back(own, pulls ? row.examples.models : row.examples.swarm.text);
  std::ranges::stable_sort(drawn, {}, &std::pair<std::uint8_t, std::string>::first);
  std::vector<std::string> texts;
  for (const auto& [own, text] : drawn) texts.push_back(text);
  return texts;
}

}  // namespace shoal
