#include "optim/schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/check.h"
#include "base/error.h"
#include "base/parse.h"

namespace shoal {

namespace {

constexpr std::size_t kMilestonesMax = 1000;

[[noreturn]] void refuse_schedule(std::string_view text, std::string_view why) {
  throw ConfigError(fmt::format(
      "'{}' is not a learning-rate schedule: {}. Allowed: constant, "
      "step:EPOCHS[,EPOCHS..][:FACTOR], cosine[:FINAL], poly[:POWER]; before any of them: "
      "linear+, warmup:EPOCHS+ or warmup:PERCENT%+",
      text.substr(0, 200), why));
}

// Removes and returns the text before the first `separator`, or all of it.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return head;
}

void parse_warmup(std::string_view text, std::string_view length, Schedule& schedule) {
  schedule.warmup_is_part = length.ends_with('%');
  if (schedule.warmup_is_part) length.remove_suffix(1);
  const auto value = parse_number<double>(length);
  if (!value || *value < 0)
    refuse_schedule(text, "the warm-up takes a number of epochs, or percent");
  if (schedule.warmup_is_part && *value >= 100)
    refuse_schedule(text, "the warm-up must end before the run does");
  schedule.warmup = schedule.warmup_is_part ? *value / 100 : *value;
}

void parse_milestones(std::string_view text, std::string_view list, Schedule& schedule) {
  while (!list.empty()) {
    const auto value = parse_number<double>(take(list, ','));
    if (!value || *value <= 0) refuse_schedule(text, "its epochs are numbers above 0");
    if (!schedule.milestones.empty() && *value <= schedule.milestones.back())
      refuse_schedule(text, "its epochs must rise");
    if (schedule.milestones.size() == kMilestonesMax)
      refuse_schedule(text, fmt::format("it has more than {} epochs", kMilestonesMax));
    schedule.milestones.push_back(*value);
  }
  if (schedule.milestones.empty()) refuse_schedule(text, "the epochs are missing");
}

// The prefixes before the kind.
std::string_view parse_prefixes(std::string_view text, Schedule& schedule) {
  std::string_view rest = text;
  if (rest.starts_with("linear+")) {
    schedule.linear_scaling = true;
    take(rest, '+');
  }
  if (rest.starts_with("warmup:")) {
    if (rest.find('+') == std::string_view::npos)
      refuse_schedule(text, "'+' and a schedule must follow the warm-up, for example '+constant'");
    std::string_view warmup = take(rest, '+');
    take(warmup, ':');
    parse_warmup(text, warmup, schedule);
  }
  return rest;
}

double steps_of_warmup(const Schedule& s, const Horizon& horizon) {
  const Step unit = s.warmup_is_part ? horizon.total : horizon.per_epoch;
  return s.warmup * static_cast<double>(unit.value());
}

// The number of milestones that have passed.
double falls(const Schedule& s, double epoch) {
  if (s.milestones.size() == 1) return std::floor(epoch / s.milestones[0]);
  const auto next = std::upper_bound(s.milestones.begin(), s.milestones.end(), epoch);
  return static_cast<double>(next - s.milestones.begin());
}

}  // namespace

Schedule parse_schedule(std::string_view text) {
  Schedule schedule;
  std::string_view rest = parse_prefixes(text, schedule);
  const bool has_arguments = rest.find(':') != std::string_view::npos;
  const std::string_view kind = take(rest, ':');
  if (has_arguments && rest.empty()) refuse_schedule(text, "nothing follows the ':'");
  if (kind == "constant") {
    schedule.kind = Schedule::Kind::Constant;
    if (has_arguments) refuse_schedule(text, "'constant' takes no parameter");
  } else if (kind == "step") {
    schedule.kind = Schedule::Kind::Stairs;
    const bool has_factor = rest.find(':') != std::string_view::npos;
    parse_milestones(text, take(rest, ':'), schedule);
    const auto factor = has_factor ? parse_number<double>(rest) : schedule.factor;
    if (!factor || *factor <= 0) refuse_schedule(text, "its factor is a number above 0");
    schedule.factor = *factor;
  } else if (kind == "cosine") {
    schedule.kind = Schedule::Kind::Cosine;
    const auto part = has_arguments ? parse_number<double>(rest) : 0;
    if (!part || *part < 0 || *part > 1)
      refuse_schedule(text, "its final value is a fraction, 0 to 1");
    schedule.final_part = *part;
  } else if (kind == "poly") {
    schedule.kind = Schedule::Kind::Poly;
    const auto power = has_arguments ? parse_number<double>(rest) : 1;
    if (!power || *power <= 0) refuse_schedule(text, "its power is a number above 0");
    schedule.power = *power;
  } else {
    refuse_schedule(text, fmt::format("'{}' is unknown", kind.substr(0, 100)));
  }
  return schedule;
}

std::string describe(const Schedule& s) {
  std::string text = s.linear_scaling ? "linear+" : "";
  if (s.warmup > 0)
    text += s.warmup_is_part ? fmt::format("warmup:{}%+", s.warmup * 100)
                             : fmt::format("warmup:{}+", s.warmup);
  switch (s.kind) {
    case Schedule::Kind::Constant: return text + "constant";
    case Schedule::Kind::Cosine:
      return text + (s.final_part > 0 ? fmt::format("cosine:{}", s.final_part) : "cosine");
    case Schedule::Kind::Poly: return text + fmt::format("poly:{}", s.power);
    case Schedule::Kind::Stairs: break;
  }
  text += "step";
  for (std::size_t i = 0; i < s.milestones.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? ':' : ',', s.milestones[i]);
  return text + fmt::format(":{}", s.factor);
}

Horizon horizon_of(std::uint64_t samples, std::uint64_t per_update, std::uint64_t epochs,
                   std::uint64_t last_epoch) {
  SHOAL_CHECK(samples > 0 && per_update > 0 && epochs > 0);
  const auto updates = [&](std::uint64_t n) { return (n + per_update - 1) / per_update; };
  const std::uint64_t per_epoch = updates(samples);
  const std::uint64_t last = updates(last_epoch > 0 ? std::min(last_epoch, samples) : samples);
  return {Step(per_epoch), Step(per_epoch * (epochs - 1) + last)};
}

double eta(const Schedule& s, double base, Step t, const Horizon& horizon, std::uint64_t workers) {
  const auto& [per_epoch, total] = horizon;
  SHOAL_CHECK_GT(per_epoch, Step(0));
  SHOAL_CHECK_GT(total, Step(0));
  SHOAL_CHECK_GT(workers, 0U);
  if (s.linear_scaling) base *= static_cast<double>(workers);
  const auto step = static_cast<double>(std::min(t, total).value());
  const double warmup = steps_of_warmup(s, horizon);
  // The first step is one step up the ramp: a learning rate of zero would waste it.
  if (step < warmup) return base * std::min(1.0, (step + 1) / warmup);
  const double rest = static_cast<double>(total.value()) - warmup;
  const double p = rest > 0 ? std::min(1.0, (step - warmup) / rest) : 1;
  switch (s.kind) {
    case Schedule::Kind::Constant: return base;
    case Schedule::Kind::Stairs:
      return base * std::pow(s.factor, falls(s, step / static_cast<double>(per_epoch.value())));
    case Schedule::Kind::Cosine: {
      const double part = (1 + std::cos(std::numbers::pi * p)) / 2;  // exactly 0 at the end
      return base * (s.final_part + (1 - s.final_part) * part);
    }
    case Schedule::Kind::Poly: return base * std::pow(1 - p, s.power);
  }
  return base;
}

}  // namespace shoal
