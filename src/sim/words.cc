#include "sim/words.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"

namespace shoal {

using namespace std::chrono_literals;

namespace {

constexpr const char* kLinkForm = "RATE:LATENCY, for example 10gbit:20us";
constexpr const char* kStragglerForm =
    "KIND:NUMBER[@NODE], as constant:2@1, jitter:0.2, pareto:1.5";
constexpr const char* kFaultForm =
    "KIND:NODE@WHEN[+DURATION], for example crash:2@3s+1s, or seed:7";

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kRates[] = {{"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}};
constexpr Unit kTimes[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                           {"s", 1},     {"min", 60},  {"h", 3600}};

struct FaultWord {
  std::string_view name;
  FaultKind kind;
  bool lasts;  // a duration is required
};
constexpr FaultWord kFaultWords[] = {
    {"crash", FaultKind::Kill, false},         {"power-loss", FaultKind::PowerLoss, false},
    {"freeze", FaultKind::Freeze, true},       {"slow", FaultKind::SlowDown, true},
    {"partition", FaultKind::Partition, true}, {"cut", FaultKind::OneWayCut, true},
    {"link-slow", FaultKind::LinkSlow, true}};

// A word, parsed from the left; `whole` and `form` are for messages.
struct Word {
  std::string_view flag, whole, form, left;

  [[noreturn]] void refuse(std::string_view why) const {
    throw ConfigError(fmt::format("{} {}: {}; expected {}", flag, whole, why, form));
  }
  bool take(char c) {
    if (!left.starts_with(c)) return false;
    left.remove_prefix(1);
    return true;
  }
  void require(char c) {
    if (!take(c)) refuse(fmt::format("'{}' is missing", c));
  }
  void require_end() const {
    if (!left.empty()) refuse(fmt::format("'{}' is unexpected", left));
  }
  // The text up to the first of these characters, or to the end.
  std::string_view name(std::string_view until) {
    const std::size_t n = std::min(left.find_first_of(until), left.size());
    const std::string_view word = left.substr(0, n);
    left.remove_prefix(n);
    return word;
  }
  double number(double least) {
    const std::string_view before = left;
    const auto value = take_number<double>(left);
    if (!value || !std::isfinite(*value))
      refuse(fmt::format("'{}' does not begin with a number", before));
    if (*value < least) refuse(fmt::format("{} is less than {}", *value, least));
    return *value;
  }
  double quantity(std::span<const Unit> units, std::string_view until) {
    const double value = number(0);
    const std::string_view unit = name(until);
    const auto it = std::ranges::find(units, unit, &Unit::name);
    if (it != units.end()) return value * it->factor;
    if (unit.empty()) refuse(fmt::format("a unit is missing after {}", value));
    std::vector<std::string> known;
    for (const Unit& u : units) known.emplace_back(u.name);
    refuse(fmt::format("'{}' is not a unit. {}", unit, suggest(unit, known)));
  }
  Duration time(std::string_view until) {
    const double s = quantity(kTimes, until);
    if (s > 1e8) refuse(fmt::format("{} s are more than three years", s));
    return from_seconds(s);
  }
  NodeId node(std::size_t nodes) {
    const double n = number(0);
    if (n != std::floor(n) || n >= static_cast<double>(nodes))
      refuse(fmt::format("there is no node {}; they are 0 to {}", n, nodes - 1));
    return NodeId(static_cast<std::uint32_t>(n));
  }
};

std::vector<Word> words_in(std::string_view flag, std::string_view text, std::string_view form) {
  std::vector<Word> words;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, comma);
    words.push_back({flag, one, form, one});
    if (comma == text.size()) return words;
    text.remove_prefix(comma + 1);
  }
}

Fault parse_fault(Word word, std::size_t nodes) {
  const std::string_view name = word.name(":");
  const auto kind = std::ranges::find(kFaultWords, name, &FaultWord::name);
  if (kind == std::end(kFaultWords)) {
    std::vector<std::string> known;
    for (const FaultWord& w : kFaultWords) known.emplace_back(w.name);
    word.refuse(fmt::format("'{}' is not a fault. {}", name, suggest(name, known)));
  }
  Fault fault;
  fault.kind = kind->kind;
  word.require(':');
  fault.node = word.node(nodes);
  if (fault.kind == FaultKind::OneWayCut) {
    word.require('>');
    fault.peer = word.node(nodes);
    if (fault.peer == fault.node) word.refuse("a node has no link to itself");
  }
  word.require('@');
  fault.at = Time(word.time("+x"));
  if (word.take('+')) fault.lasting = word.time("x");
  if (kind->lasts && fault.lasting <= Duration(0))
    word.refuse(fmt::format("it needs a duration: add '+1s' after the time of a {}", name));
  const bool slows = fault.kind == FaultKind::SlowDown || fault.kind == FaultKind::LinkSlow;
  if (slows) {
    word.require('x');
    fault.factor = word.number(1);
  }
  word.require_end();
  return fault;
}

FaultPlan drawn_faults(Word word, std::size_t nodes) {
  word.name(":");
  word.require(':');
  const double seed = word.number(0);
  if (seed != std::floor(seed)) word.refuse("a seed is an integer");
  const Duration during = word.take('@') ? word.time("") : Duration(6s);
  word.require_end();
  Random random(Seed(static_cast<std::uint64_t>(seed)), Purpose::Recipe);
  return draw_faults(random, nodes, during);
}

}  // namespace

LinkModel parse_link(std::string_view flag, std::string_view text) {
  Word word{flag, text, kLinkForm, text};
  LinkModel link;
  link.bytes_per_s = word.quantity(kRates, ":") / 8;
  word.require(':');
  link.latency = word.time("");
  return link;
}

std::vector<Straggler> parse_stragglers(std::string_view text, std::size_t nodes) {
  std::vector<Straggler> all(nodes);
  if (text.empty() || text == "none") return all;
  for (Word word : words_in("--stragglers", text, kStragglerForm)) {
    const std::string_view name = word.name(":");
    Straggler s;
    double least = 0;
    if (name == "constant") {
      s.kind = Straggler::Kind::Constant;
      least = 0.001;
    } else if (name == "jitter") {
      s.kind = Straggler::Kind::Jitter;
    } else if (name == "pareto") {
      s.kind = Straggler::Kind::HeavyTail;
      least = 0.1;
    } else if (name == "exponential") {
      s.kind = Straggler::Kind::Exponential;
      least = 0.001;
    } else {
      const std::vector<std::string> known = {"constant", "jitter", "pareto", "exponential",
                                              "none"};
      word.refuse(fmt::format("'{}' is not known. {}", name, suggest(name, known)));
    }
    word.require(':');
    s.factor = word.number(least);
    word.take('x');
    if (word.take('@')) {
      all[word.node(nodes).value()] = s;
    } else {
      all.assign(nodes, s);
    }
    word.require_end();
  }
  return all;
}

FaultPlan parse_faults(std::string_view text, std::size_t nodes) {
  FaultPlan plan;
  if (text.empty() || text == "none") return plan;
  if (text.starts_with("seed:")) return drawn_faults({"--faults", text, kFaultForm, text}, nodes);
  for (const Word& word : words_in("--faults", text, kFaultForm))
    plan.faults.push_back(parse_fault(word, nodes));
  std::ranges::stable_sort(plan.faults, {}, &Fault::at);
  return plan;
}

}  // namespace shoal
