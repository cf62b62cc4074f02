// shoal systems: lists the systems of --like, the axes, and the choices that exclude each other.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "recipe/axes.h"
#include "recipe/compatibility.h"
#include "recipe/criteria.h"
#include "recipe/registry.h"

namespace shoal {
namespace {

struct SystemsFlags {
  bool json = false;
  bool markdown = false;
};

std::string bucket(const System& system) {
  if (by_worker(system.recipe)) return "-";
  if (system.bucket_bytes == kEachTensor) return "each tensor";
  if (system.bucket_bytes == kOneBucket) return "one";
  return fmt::format("{} MiB", system.bucket_bytes.value() >> 20U);
}

std::string names_of(const System& system, const char* quote) {
  std::string names = fmt::format("{0}{1}{0}", quote, system.name);
  for (const std::string_view alias : system.aliases)
    names += fmt::format(", {0}{1}{0}", quote, alias);
  return names;
}

std::string year_of(const System& system) {
  return system.year == 0 ? "" : fmt::format("{}", system.year);
}

// The choices that distinguish a system from a plain recipe of its kind.
std::string choices_of(const System& system) {
  const Recipe plain = std::visit(
      [](const auto& kind) { return Recipe(std::decay_t<decltype(kind)>()); }, system.recipe);
  std::string text = by_worker(system.recipe)
                         ? fmt::format("--update {}", axis_of(system.recipe, "update"))
                         : fmt::format("--exchange {}", axis_of(system.recipe, "exchange"));
  Recipe recipe = system.recipe;
  for (const Setting& setting : settings_of(recipe)) {
    const std::string value = setting.text();
    if (!setting.printed || value == axis_of(plain, setting.name)) continue;
    if (!by_worker(recipe) && setting.name == "exchange") continue;
    text += " " + flag_of(setting, value);
  }
  return text;
}

std::string pluses(unsigned n) { return std::string(n, '+'); }

void print_table() {
  fmt::print("{:<20} {:<5} {:<12} {:<24} {:<14} {:<8} {:<9} {:<11} {:<8}\n", "--like", "year",
             "buckets", "kind", "rate", "overlap", "settings", "resilience", "repeat");
  for (const System& system : systems()) {
    const Criteria& c = criteria_of(system.recipe);
    fmt::print("{:<20} {:<5} {:<12} {:<24} {:<14} {:<8} {:<9} {:<11} {:<8}\n", system.name,
               year_of(system), bucket(system), c.kind, c.rate, pluses(c.overlap),
               pluses(c.settings), pluses(c.resilience), c.reproducible);
    fmt::print("{:<26} {}\n{:<26} {}\n", "", system.sentence, "", choices_of(system));
    for (const std::string_view alias : system.aliases)
      fmt::print("{:<20} {:<5} as {}\n", alias, "", system.name);
  }
  fmt::print(
      "\n"
      "rate: the best learning rate in a larger cluster; overlap, settings: the complexity that "
      "they add;\n"
      "resilience: to disturbances from outside; repeat: how difficult it is to repeat a run. All "
      "but central,\n"
      "synchronous systems need large, balanced data. `shoal advise` ranks them for a cluster.\n");
  fmt::print(
      "\n"
      "Each axis has a flag; citations: --markdown or --json.\n");
}

std::string link_of(const System& system) {
  const std::string_view reference = system.reference;
  const std::size_t colon = reference.find(':');
  if (colon == std::string_view::npos) return "";
  const std::string_view id = reference.substr(colon + 1);
  const char* const at =
      reference.starts_with("doi:") ? "https://doi.org/" : "https://arxiv.org/abs/";
  return fmt::format(", [{}]({}{})", reference, at, id);
}

std::string_view residual_of(const EncodingTraits& is) {
  return is.needs_residual ? "always" : is.no_residual.empty() ? "with `+ef`" : "never";
}

void print_encodings() {
  fmt::print(
      "\n"
      "### Encodings\n\n"
      "The forms of `--encode`. Parameters at the end may be omitted. After any form, `+ef` keeps "
      "a residual,\n"
      "and `+zstd` compresses the bytes. The columns from residual on apply to the default "
      "parameters.\n\n"
      "| form | sent per element | parameters | example | residual | draws | positions | for "
      "models | whole steps |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  const auto mark = [](bool is) { return is ? "yes" : ""; };
  for (const EncodingRow& row : encoding_rows())
    fmt::print("| `{}` | {} | {} | `{}` | {} | {} | {} | {} | {} |\n", row.form, row.help,
               fmt::join(row.parameters, "; "), row.examples.usual, residual_of(row.traits),
               mark(row.traits.draws), mark(row.traits.lists), mark(!row.examples.models.empty()),
               mark(row.traits.of_whole_steps()));
}

void print_markdown() {
  fmt::print(
      "# Systems\n\n"
      "Made by `tools/update-docs` from `shoal systems --markdown`; do not edit.\n\n"
      "`--like NAME` sets the axes of that system; any axis can then be changed by its own flag. "
      "Recipes are\n"
      "checked before training starts; a refusal names the reason and the nearest choice that "
      "works. The\n"
      "entries are in `src/recipe/registry_*.cc`.\n\n"
      "The columns from balanced data to repeat are the selection criteria of Langer et al. 2020, "
      "Table 2:\n"
      "whether the samples of each worker must have the same distribution; the best learning rate "
      "in a larger\n"
      "cluster; the complexity that overlapped communication, and settings of its own, add; "
      "resilience to\n"
      "sporadic disturbances from outside; how difficult it is to repeat a run. `shoal advise` "
      "weighs them for\n"
      "a cluster.\n\n"
      "| `--like` | year | axes | buckets | workers | balanced data | rate | overlap | settings | "
      "resilience | repeat | description |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const System& system : systems()) {
    const Criteria& c = criteria_of(system.recipe);
    fmt::print("| {} | {} | `{}` | {} | {}+ | {} | {} | {} | {} | {} | {} | {} |\n",
               names_of(system, "`"), year_of(system), choices_of(system), bucket(system),
               system.workers_min, c.needs_balanced_data ? "yes" : "", c.rate, pluses(c.overlap),
               pluses(c.settings), pluses(c.resilience), c.reproducible, system.sentence);
  }
  fmt::print(
      "\n"
      "## Axes\n\n"
      "| flag | choices | description | goes with |\n"
      "|---|---|---|---|\n");
  for (const Axis& axis : axes()) {
    std::string choices = axis.choices.empty() ? axis.range : "";
    if (axis.is_switch) {
      choices = fmt::format("`--{0}`, `--no-{0}`", axis.name);
    } else {
      for (const std::string& choice : axis.choices)
        choices += fmt::format("{}`{}`", choices.empty() ? "" : ", ", choice);
    }
    std::string with;
    for (const std::string& choice : axis.goes_with)
      with += fmt::format("{}`{}`", with.empty() ? "" : ", ", choice);
    fmt::print("| `--{}` | {} | {} | {} |\n", axis.name, choices, axis.help, with);
  }
  print_encodings();
  fmt::print(
      "\n"
      "`--reproducible` is `--shards 8`, with one thread, deterministic kernels and a fixed memory "
      "format of libtorch.\n\n"
      "## Choices that exclude each other\n\n"
      "| these | because | take instead |\n"
      "|---|---|---|\n");
  for (const Exclusion& rule : exclusions())
    fmt::print("| {} | {} | {} |\n", rule.what, rule.why, rule.instead);
  fmt::print(
      "\n"
      "## Sources\n\n");
  for (const System& system : systems())
    fmt::print("- `{}`: {}{}.\n", system.name, system.citation, link_of(system));
}

void print_json() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const System& system : systems()) {
    nlohmann::ordered_json recipe = nlohmann::ordered_json::object();
    for (const auto& [axis, value] : axes_of(system.recipe)) recipe[axis] = value;
    nlohmann::ordered_json entry;
    entry["name"] = system.name;
    entry["aliases"] = system.aliases;
    if (system.year > 0) entry["year"] = system.year;
    entry["citation"] = system.citation;
    entry["reference"] = system.reference;
    entry["sentence"] = system.sentence;
    entry["recipe"] = recipe;
    entry["bucket_bytes"] = system.bucket_bytes.value();
    entry["adapts"] = system.adapts;
    entry["eta_times"] = system.eta_times;
    entry["optimizer"] = system.optimizer;
    entry["workers_min"] = system.workers_min;
    const Criteria& c = criteria_of(system.recipe);
    entry["criteria"] = {{"kind", c.kind},
                         {"needs_balanced_data", c.needs_balanced_data},
                         {"rate", c.rate},
                         {"overlap_complexity", c.overlap},
                         {"settings_complexity", c.settings},
                         {"resilience", c.resilience},
                         {"reproducible", c.reproducible}};
    all.push_back(entry);
  }
  fmt::print("{}\n", all.dump(2));
}

ExitCode run_systems(const SystemsFlags& o) {
  if (o.json && o.markdown) throw ConfigError("--json and --markdown: take one of them");
  if (o.json) {
    print_json();
  } else if (o.markdown) {
    print_markdown();
  } else {
    print_table();
  }
  return ExitCode::kOk;
}

}  // namespace

Command systems_command() {
  auto o = std::make_shared<SystemsFlags>();
  return {
      .name = "systems",
      .summary = "list the systems of --like: axes, year, citation",
      .options = {{"--json", "for programs", &o->json},
                  {"--markdown", "print docs/systems.md, with axes and exclusions", &o->markdown}},
      .run = [o] { return run_systems(*o); }};
}

}  // namespace shoal
