#include "ps/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace shoal {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& n) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, n);
  return error == std::errc{} && stopped == end;
}

}  // namespace

Fetch parse_fetch(std::string_view text) {
  Fetch fetch;
  if (text == "stale") {
    fetch.kind = Fetch::Kind::Stale;
  } else if (text == "eager") {
    fetch.kind = Fetch::Kind::Eager;
  } else if (!read_number(text, fetch.steps) || fetch.steps == 0) {
    throw ConfigError(
        fmt::format("--fetch {}: needed is a number of steps from 1 on, stale or eager", text));
  }
  return fetch;
}

std::string to_string(const Fetch& fetch) {
  if (fetch.kind == Fetch::Kind::Every) return fmt::format("{}", fetch.steps);
  return fetch.kind == Fetch::Kind::Stale ? "stale" : "eager";
}

Compensation parse_compensation(std::string_view text) {
  constexpr std::string_view kAdaptive = "adaptive:";
  Compensation c;
  c.adaptive = text.starts_with(kAdaptive);
  const std::string_view number = c.adaptive ? text.substr(kAdaptive.size()) : text;
  if (!read_number(number, c.lambda) || !(c.lambda >= 0) || !std::isfinite(c.lambda) ||
      (c.adaptive && c.lambda == 0))
    throw ConfigError(fmt::format(
        "--compensate {}: needed is a factor as 0.04, adaptive:2, or 0 for none", text));
  return c;
}

std::string to_string(const Compensation& c) {
  return fmt::format("{}{}", c.adaptive ? "adaptive:" : "", c.lambda);
}

std::uint64_t samples_per_update(const ParameterServerOptions& ps, std::uint64_t batch,
                                 std::uint64_t workers, std::uint64_t hosts) {
  // A worker pushes before it reads.
  const bool every = ps.fetch.kind == Fetch::Kind::Every;
  const std::uint64_t steps = every ? std::min(ps.push_every, ps.fetch.steps) : ps.push_every;
  const std::uint64_t groups = count_groups(ps.groups, workers, hosts);
  return batch * steps * ps.write_back * pushes_per_update(ps.consistency, groups) * workers /
         groups;
}

}  // namespace shoal
