#include "ps/consistency.h"

namespace shoal {

Consistency parse_consistency(std::string_view text) {
  return parse_choice<Consistency>("--consistency", text);
}

std::string to_string(const Consistency& c) { return choice_text(c); }

bool may_read(const Consistency& c, const ClockTable& table, std::uint64_t clock,
              std::uint64_t version, std::uint64_t pushes) {
  return std::visit([&](const auto& rule) { return rule.may_read(table, clock, version, pushes); },
                    c);
}

Admission admits(const Consistency& c, const ClockTable& table, const ClockRow& row,
                 std::uint64_t version, std::uint64_t based_on, double change) {
  return std::visit(
      [&](const auto& rule) { return rule.admits(table, row, version, based_on, change); }, c);
}

bool completes(const Consistency& c, const ClockTable& table, std::uint64_t pushes,
               std::uint64_t version) {
  return std::visit([&](const auto& rule) { return rule.completes(table, pushes, version); }, c);
}

std::uint64_t version_after(const Consistency& c, const ClockTable& table, std::uint64_t version) {
  return std::visit([&](const auto& rule) { return rule.version_after(table, version); }, c);
}

std::uint64_t pushes_per_update(const Consistency& c, std::uint64_t workers) {
  return std::visit([&](const auto& rule) { return rule.pushes_per_update(workers); }, c);
}

bool moves_in_step(const Consistency& c) {
  return std::visit([](const auto& rule) { return rule.moves_in_step(); }, c);
}

bool goes_by_steps(const Consistency& c) {
  return std::visit([](const auto& rule) { return rule.goes_by_steps(); }, c);
}

bool counts_clocks(const Consistency& c) {
  return std::visit([](const auto& rule) { return rule.counts_clocks(); }, c);
}

bool drops_late(const Consistency& c) {
  return std::visit([](const auto& rule) { return rule.drops_late(); }, c);
}

bool limits_change(const Consistency& c) {
  return std::visit([](const auto& rule) { return rule.limits_change(); }, c);
}

std::optional<std::uint64_t> staleness_bound(const Consistency& c) {
  return std::visit([](const auto& rule) { return rule.staleness_bound(); }, c);
}

std::uint64_t rate_divisor(const Consistency& c) {
  return std::visit([](const auto& rule) { return rule.rate_divisor(); }, c);
}

}  // namespace shoal
