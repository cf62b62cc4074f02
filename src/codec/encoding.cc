#include "codec/encoding.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "codec/qsgd.h"

namespace shoal {
namespace {

using Kind = Encoding::Kind;

constexpr std::array<std::string_view, kEncodings> kNames = {
    "fp32",     "fp16", "bf16",     "fixed16", "flexpoint", "onebit",  "twobit",
    "terngrad", "qsgd", "dorefa",   "strom",   "dryden",    "adacomp", "topk",
    "randomk",  "dgc",  "powersgd", "sfb",     "poseidon",  "auto"};

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw ConfigError(fmt::format("--encode {}: {}", text.substr(0, 200), why));
}

// Cuts off and returns what stands before the first `separator`; all of it where there is none.
std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return head;
}

template <class Number>
std::optional<Number> number_in(std::string_view word) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// The settings that a kind may be given: one number, whole or not.
struct Setting {
  std::string_view what;
  double least;
  double most;
  double otherwise;  // where none is given
  double Encoding::*real = nullptr;
  std::uint32_t Encoding::*whole = nullptr;
};

constexpr double kThetaLeast = 1e-30;
constexpr double kThetaMost = 1e30;

std::optional<Setting> setting_of(Kind kind) {
  constexpr double kRatioLeast = 1e-6;
  switch (kind) {
    case Kind::Fixed16: return Setting{"bits before the point", 1, 15, 4, nullptr, &Encoding::bits};
    case Kind::Twobit:
      return Setting{"a threshold", kThetaLeast, kThetaMost, 0.5, &Encoding::theta, nullptr};
    case Kind::Strom:
      return Setting{"a threshold", kThetaLeast, kThetaMost, 0.001, &Encoding::theta, nullptr};
    case Kind::Qsgd: return Setting{"levels", 1, kQsgdLevelsMost, 4, nullptr, &Encoding::levels};
    case Kind::Dorefa: return Setting{"bits", 1, 16, 4, nullptr, &Encoding::bits};
    case Kind::Adacomp: return Setting{"elements of a bin", 2, 1e6, 500, nullptr, &Encoding::bin};
    case Kind::Dryden:
    case Kind::Topk:
    case Kind::Randomk:
      return Setting{"a part of the elements", kRatioLeast, 1, 0.01, &Encoding::ratio, nullptr};
    case Kind::Dgc:
      return Setting{"a part of the elements", kRatioLeast, 1, 0.001, &Encoding::ratio, nullptr};
    case Kind::Powersgd: return Setting{"a rank", 1, 1024, 2, nullptr, &Encoding::rank};
    default: return std::nullopt;
  }
}

void set(std::string_view text, Encoding& encoding, std::string_view word, bool given) {
  const std::optional<Setting> setting = setting_of(encoding.kind);
  if (!setting) {
    if (given) refuse(text, fmt::format("{} takes no '{}'", to_string(encoding.kind), word));
    return;
  }
  const auto allowed = [&] {
    return fmt::format("{} takes {}{} from {:g} to {:g}, not '{}'", to_string(encoding.kind),
                       setting->what, setting->whole != nullptr ? ", a whole number" : "",
                       setting->least, setting->most, word);
  };
  double value = setting->otherwise;
  if (given) {
    const auto read = number_in<double>(word);
    if (!read || !(*read >= setting->least) || !(*read <= setting->most)) refuse(text, allowed());
    value = *read;
  }
  if (setting->real != nullptr) {
    encoding.*setting->real = value;
  } else {
    if (value != std::floor(value)) refuse(text, allowed());
    encoding.*setting->whole = static_cast<std::uint32_t>(value);
  }
}

// The second number of randomk is cut off.
void set_hold(std::string_view text, Encoding& encoding, std::string_view& settings) {
  const std::size_t at = settings.find(':');
  if (at == std::string_view::npos) return;
  const auto steps = number_in<std::uint32_t>(settings.substr(at + 1));
  if (!steps || *steps == 0)
    refuse(text, fmt::format("randomk keeps its places for a number of steps from 1 on, not '{}'",
                             settings.substr(at + 1)));
  encoding.hold = *steps > 1 ? *steps : 0;
  settings = settings.substr(0, at);
}

// Kinds that are nothing without the rest.
bool always_keeps_rest(Kind kind) {
  return kind == Kind::Twobit || kind == Kind::Strom || kind == Kind::Dryden ||
         kind == Kind::Adacomp || kind == Kind::Powersgd;
}

// Why the rest cannot be kept; empty where it can.
std::string why_no_feedback(const Encoding& encoding) {
  switch (encoding.kind) {
    case Kind::Fp32: return "fp32 leaves nothing out that +ef could add to the next gradient";
    case Kind::Auto: return "auto decides itself whether the rest is kept; leave +ef out";
    case Kind::Sfb:
    case Kind::Poseidon: return "factors leave nothing out that +ef could add to the next gradient";
    case Kind::Dgc: return "dgc keeps what was not sent in its own sums of momentum; leave +ef out";
    case Kind::Terngrad:
    case Kind::Dorefa:
      return fmt::format(
          "{} leaves out more than it was given wherever one element is far larger than the rest, "
          "so that what +ef keeps would grow without end. Its mean error is 0 without +ef; or take "
          "onebit+ef",
          to_string(encoding.kind));
    case Kind::Qsgd:
      if (encoding.levels >= kQsgdLevelsWithRest) return {};
      return fmt::format(
          "with fewer than {} levels qsgd may leave out more than it was given, so that what +ef "
          "keeps would grow without end. Its mean error is 0 without +ef",
          kQsgdLevelsWithRest);
    default: return {};
  }
}

void add_suffix(std::string_view text, std::string_view suffix, Encoding& encoding) {
  bool* const flag = suffix == "ef"     ? &encoding.feedback
                     : suffix == "zstd" ? &encoding.zstd
                                        : nullptr;
  if (flag == nullptr)
    refuse(text, fmt::format("'+{}' is not known; there are +ef and +zstd", suffix));
  const bool understood = suffix == "ef" && always_keeps_rest(encoding.kind);
  if (*flag && !understood) refuse(text, fmt::format("'+{}' stands there twice", suffix));
  *flag = true;
}

}  // namespace

std::string_view to_string(Encoding::Kind kind) { return kNames[static_cast<std::size_t>(kind)]; }

Encoding parse_encoding(std::string_view text) {
  std::string_view suffixes = text;
  std::string_view settings = cut(suffixes, '+');
  const bool given = settings.find(':') != std::string_view::npos;
  const std::string_view name = cut(settings, ':');
  const auto* const it = std::ranges::find(kNames, name);
  if (it == kNames.end())
    refuse(text,
           fmt::format("this is not known. {}",
                       suggest(name, std::vector<std::string>(kNames.begin(), kNames.end()))));
  Encoding encoding;
  encoding.kind = static_cast<Kind>(it - kNames.begin());
  if (encoding.kind == Kind::Qsgd && settings.ends_with(":elias")) {
    encoding.elias = true;
    settings.remove_suffix(6);
  }
  if (encoding.kind == Kind::Randomk) set_hold(text, encoding, settings);
  set(text, encoding, settings, given);
  encoding.feedback = always_keeps_rest(encoding.kind);
  if (text.ends_with('+')) refuse(text, "nothing follows the '+'");
  while (!suffixes.empty()) add_suffix(text, cut(suffixes, '+'), encoding);
  if (encoding.feedback)
    if (const std::string why = why_no_feedback(encoding); !why.empty()) refuse(text, why);
  if (encoding.zstd && !has_codec(encoding))
    refuse(text, encoding.kind == Kind::Auto
                     ? "auto decides itself whether bytes are compressed; leave +zstd out"
                     : "factors are sent or added up as they are; leave +zstd out");
  return encoding;
}

std::string to_string(const Encoding& encoding) {
  std::string text(to_string(encoding.kind));
  if (const std::optional<Setting> setting = setting_of(encoding.kind)) {
    text += setting->real != nullptr ? fmt::format(":{}", encoding.*setting->real)
                                     : fmt::format(":{}", encoding.*setting->whole);
  }
  if (encoding.elias) text += ":elias";
  if (encoding.hold > 0) text += fmt::format(":{}", encoding.hold);
  if (encoding.feedback && !always_keeps_rest(encoding.kind)) text += "+ef";
  if (encoding.zstd) text += "+zstd";
  return text;
}

bool has_codec(const Encoding& encoding) { return encoding.kind < Kind::Powersgd; }

}  // namespace shoal
