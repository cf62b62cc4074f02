#include "report/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "report/curves.h"

namespace shoal {
namespace {

// Settings that do not make another contestant: seeds, and costs measured for the simulator.
bool is_aside(const std::string& key) {
  return key == "seed" || key == "ns-per-sample" || key == "ns-per-element" || key == "save-every";
}

using Settings = std::map<std::string, std::string>;

Settings settings_of(const FinishedRun& run) {
  Settings settings{{"world", run.summary.world}};
  for (const ConfigEntry& entry : run.config)
    if (!is_aside(entry.key)) settings[entry.key] = to_text(entry.value);
  return settings;
}

std::string value_of(const Settings& settings, const std::string& key) {
  const auto it = settings.find(key);
  if (it == settings.end()) return "";
  std::string text = it->second;
  std::erase(text, '"');
  return text;
}

// Adds to a label the differences from others of the same name.
void add_differences(std::vector<Contestant>& all, const std::vector<Settings>& settings) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<std::string> differences;
    for (const auto& [key, value] : settings[i]) {
      const bool of_the_task = key == "model" || key == "data" || key == "workers";
      const bool differs = [&] {
        for (std::size_t j = 0; j < all.size(); ++j) {
          const bool counts = of_the_task || all[j].summary().system == all[i].summary().system;
          if (counts && value_of(settings[j], key) != value_of(settings[i], key)) return true;
        }
        return false;
      }();
      if (differs && key != "like")
        differences.push_back(fmt::format("{} {}", key, value_of(settings[i], key)));
    }
    if (differences.size() > 3) differences.resize(3);
    std::string label = all[i].summary().system;
    for (const std::string& difference : differences) label += ", " + difference;
    labels.push_back(std::move(label));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto twin = std::ranges::find(labels, labels[i]) - labels.begin();
    all[i].label = twin == static_cast<std::ptrdiff_t>(i)
                       ? labels[i]
                       : fmt::format("{} ({})", labels[i], all[i].runs.front()->folder);
  }
}

Spread over_runs(const Contestant& c, double (*value)(const Summary&)) {
  std::vector<double> values;
  for (const FinishedRun* run : c.runs) values.push_back(value(run->summary));
  return spread_of(values);
}

void add_numbers(Contestant& c) {
  c.wall_s = over_runs(c, [](const Summary& s) { return s.wall_s; });
  c.samples_per_s = over_runs(c, [](const Summary& s) { return s.samples_per_s; });
  c.steps = over_runs(c, [](const Summary& s) { return static_cast<double>(s.steps.value()); });
  c.train_loss = over_runs(c, [](const Summary& s) { return s.train_loss; });
  c.test_loss = over_runs(c, [](const Summary& s) { return s.test_loss; });
  c.test_accuracy = over_runs(c, [](const Summary& s) { return s.test_accuracy; });
  c.bytes = over_runs(c, [](const Summary& s) { return s.bytes_sent_per_worker; });
  c.lost_nodes = over_runs(c, [](const Summary& s) { return static_cast<double>(s.lost_nodes); });
  c.staleness = over_runs(
      c, [](const Summary& s) { return s.staleness.pushes > 0 ? s.staleness.mean() : kUnknown; });
  c.consensus = over_runs(
      c, [](const Summary& s) { return s.consensus.empty() ? kUnknown : s.consensus.back(); });
}

// ---- The target

// The best value reached with every seed.
double best_of(const Contestant& c, bool accuracy) {
  double best = kUnknown;
  for (const CurvePoint& point : c.score) {
    const double value = accuracy ? point.low : point.high;
    if (!(best == best) || (accuracy ? value > best : value < best)) best = value;
  }
  return best;
}

std::optional<double> usual_target(const Comparison& comparison) {
  std::vector<double> best;
  for (const Contestant& c : comparison.contestants)
    if (const double b = best_of(c, comparison.by_accuracy); b == b) best.push_back(b);
  if (best.empty()) return std::nullopt;
  std::ranges::sort(best);
  if (comparison.by_accuracy) std::ranges::reverse(best);
  const double median = best[(best.size() - 1) / 2];
  // A round number that it has reached.
  const double grain = comparison.by_accuracy ? 1e-3 : 1e-2;
  return (comparison.by_accuracy ? std::floor(median / grain) : std::ceil(median / grain)) * grain;
}

void reach_target(const Comparison& comparison, Contestant& c) {
  std::vector<double> times, bytes;
  for (const FinishedRun* run : c.runs) {
    const std::optional<CurvePoint> at = first_reached(test_curve(*run, comparison.by_accuracy),
                                                       *comparison.target, comparison.by_accuracy);
    times.push_back(at ? at->time_s : kUnknown);
    bytes.push_back(at ? at->bytes : kUnknown);
  }
  c.time_to_target_s = spread_of(times);
  c.bytes_to_target = spread_of(bytes);
}

// ---- Winners

using Costs = std::vector<Spread>;  // of each contestant; unknown: it does not compete

std::optional<Winner> least_of(const Costs& costs) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < costs.size(); ++i)
    if (costs[i].known() && std::isfinite(costs[i].mean)) order.push_back(i);
  if (order.empty()) return std::nullopt;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return costs[i].mean; });
  Winner winner;
  winner.who = order[0];
  winner.value = costs[order[0]].mean;
  if (order.size() < 2) return winner;
  const Spread &first = costs[order[0]], &second = costs[order[1]];
  winner.next = order[1];
  winner.ratio = first.mean > 0 ? second.mean / first.mean : 1;
  winner.clear = second.mean - first.mean > std::hypot(first.deviation, second.deviation);
  return winner;
}

// Only contestants that reached the target with every seed compete.
Spread if_all(const Contestant& c, const Spread& spread) {
  return spread.n == c.runs.size() ? spread : Spread{};
}

Spread per_sample(const Contestant& c, double (*cost)(const Summary&)) {
  std::vector<double> values;
  for (const FinishedRun* run : c.runs) {
    const Summary& s = run->summary;
    const double samples = s.samples_per_s * s.wall_s;
    values.push_back(samples > 0 ? cost(s) / samples : kUnknown);
  }
  return spread_of(values);
}

void find_winners(Comparison& comparison) {
  Costs times, bytes;
  for (const Contestant& c : comparison.contestants) {
    if (comparison.target) {
      times.push_back(if_all(c, c.time_to_target_s));
      bytes.push_back(if_all(c, c.bytes_to_target));
    } else {
      times.push_back(per_sample(c, [](const Summary& s) { return s.wall_s; }));
      bytes.push_back(per_sample(c, [](const Summary& s) {
        return s.bytes_sent_per_worker * static_cast<double>(s.workers);
      }));
    }
  }
  comparison.by_time = least_of(times);
  comparison.by_bytes = least_of(bytes);
}

// ---- Words

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

template <class Of>
std::vector<std::string> distinct(const std::vector<Contestant>& all, Of of) {
  std::vector<std::string> values;
  for (const Contestant& c : all)
    if (std::ranges::find(values, of(c)) == values.end()) values.push_back(of(c));
  return values;
}

void add_title(Comparison& comparison) {
  const std::vector<Contestant>& all = comparison.contestants;
  const auto models = distinct(all, [](const Contestant& c) { return c.summary().model; });
  const auto data = distinct(all, [](const Contestant& c) { return c.summary().data; });
  const auto worlds = distinct(all, [](const Contestant& c) { return c.summary().world; });
  const auto sizes =
      distinct(all, [](const Contestant& c) { return std::to_string(c.summary().workers); });
  comparison.title = fmt::format("{} on {}", listed(models), listed(data));
  if (models.size() > 1 || data.size() > 1)
    comparison.notes.emplace_back(
        "These runs have different tasks: times and accuracies of different models or data do not "
        "compare.");
  if (worlds.size() > 1)
    comparison.notes.emplace_back(
        "Live and simulated runs are compared: times of simulated ones are virtual.");
  if (sizes.size() > 1)
    comparison.notes.push_back(
        fmt::format("These runs have different numbers of workers: {}.", listed(sizes)));
}

}  // namespace

Spread spread_of(std::span<const double> values) {
  Spread spread;
  double sum = 0, squares = 0;
  for (const double v : values) {
    if (!(v == v)) continue;
    ++spread.n;
    sum += v;
  }
  if (spread.n == 0) return spread;
  const auto n = static_cast<double>(spread.n);
  spread.mean = sum / n;
  for (const double v : values)
    if (v == v) squares += (v - spread.mean) * (v - spread.mean);
  if (spread.n > 1) spread.deviation = std::sqrt(squares / (n - 1));
  return spread;
}

Comparison compare_runs(std::span<const FinishedRun> runs, std::optional<double> target) {
  if (runs.empty()) throw ConfigError("no runs to report: name at least one folder");
  Comparison comparison;
  std::vector<Settings> settings;
  for (const FinishedRun& run : runs) {
    const Settings own = settings_of(run);
    const auto same = [&](std::size_t i) {
      const Contestant& c = comparison.contestants[i];
      return settings[i] == own && c.summary().system == run.summary.system &&
             std::ranges::none_of(c.runs, [&](const FinishedRun* other) {
               return other->summary.seed == run.summary.seed;
             });
    };
    std::size_t i = 0;
    while (i < settings.size() && !same(i)) ++i;
    if (i == settings.size()) {
      settings.push_back(own);
      comparison.contestants.emplace_back();
    }
    comparison.contestants[i].runs.push_back(&run);
    for (const std::string& warning : run.warnings) comparison.notes.push_back(warning);
  }
  add_differences(comparison.contestants, settings);
  add_title(comparison);
  for (const FinishedRun& run : runs)
    if (run.summary.test_accuracy == run.summary.test_accuracy) comparison.by_accuracy = true;
  for (Contestant& c : comparison.contestants) {
    add_numbers(c);
    add_curves(c, comparison.by_accuracy);
  }
  comparison.target = target ? target : usual_target(comparison);
  if (comparison.target)
    for (Contestant& c : comparison.contestants) reach_target(comparison, c);
  find_winners(comparison);
  return comparison;
}

}  // namespace shoal
