#include "train/summary.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;  // keys keep the order in which people read them

Json object_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json object = Json::object();
  for (const auto& [key, value] : pairs) object[key] = value;
  return object;
}

Json object_of(const SummaryLedger& ledger) {
  Json object;
  object["consumed"] = ledger.consumed;
  object["dropped"] = ledger.dropped;
  object["lost"] = ledger.lost;
  object["partial"] = ledger.partial;
  object["repeated"] = ledger.repeated;
  object["missing"] = ledger.missing;
  return object;
}

// The number of pushes that were 0, 1, .. updates late, without trailing zeros.
Json histogram_of(const Staleness& staleness) {
  std::vector<std::uint64_t> bins = staleness.bins;
  while (!bins.empty() && bins.back() == 0) bins.pop_back();
  return bins;
}

Json object_of(const EvaluationRow& row) {
  Json object;
  object["epoch"] = row.epoch;
  object["step"] = row.step.value();
  object["clock_s"] = row.clock_s;
  object["time_s"] = row.time_s;
  object["eval_s"] = row.eval_s;
  object["train_loss"] = row.train_loss;
  object["train_accuracy"] = row.train_accuracy;
  object["test_loss"] = row.test_loss;
  object["test_accuracy"] = row.test_accuracy;
  object["bytes_sent"] = row.bytes_sent;
  if (row.consensus == row.consensus) object["consensus_error"] = row.consensus;
  return object;
}

Json list_of(const std::vector<EvaluationRow>& rows) {
  Json list = Json::array();
  for (const EvaluationRow& row : rows) list.push_back(object_of(row));
  return list;
}

double number(const Json& json, const char* key) {
  const Json& value = json.at(key);
  return value.is_null() ? kUnknown : value.get<double>();
}

// For a key that older runs do not have.
double number(const Json& json, const char* key, double otherwise) {
  return json.contains(key) ? number(json, key) : otherwise;
}

EvaluationRow row_from(const Json& json) {
  EvaluationRow row;
  json.at("epoch").get_to(row.epoch);
  row.step = Step(json.at("step").get<std::uint64_t>());
  row.clock_s = number(json, "clock_s");
  row.time_s = number(json, "time_s");
  row.eval_s = number(json, "eval_s");
  row.train_loss = number(json, "train_loss");
  row.train_accuracy = number(json, "train_accuracy");
  row.test_loss = number(json, "test_loss");
  row.test_accuracy = number(json, "test_accuracy");
  row.bytes_sent = number(json, "bytes_sent");
  row.consensus = number(json, "consensus_error", kUnknown);
  return row;
}

Staleness staleness_from(const Json& json) {
  Staleness staleness;
  if (!json.contains("staleness_histogram")) return staleness;
  const Json& bins = json.at("staleness_histogram");
  for (std::size_t i = 0; i < std::min(bins.size(), Staleness::kBins); ++i) {
    bins[i].get_to(staleness.bins[i]);
    staleness.pushes += staleness.bins[i];
  }
  json.at("staleness_max").get_to(staleness.most);
  const double sum = number(json, "staleness_mean") * static_cast<double>(staleness.pushes);
  staleness.sum = static_cast<std::uint64_t>(sum + 0.5);
  return staleness;
}

}  // namespace

std::string to_json(const Summary& s) {
  Json json;
  json["system"] = s.system;
  json["world"] = s.world;
  json["recipe"] = object_of(s.recipe);
  json["model"] = s.model;
  json["data"] = s.data;
  json["seed"] = s.seed.value();
  json["parameters"] = s.parameters;
  json["workers"] = s.workers;
  json["servers"] = s.servers;
  json["epochs"] = s.epochs;
  json["samples"] = s.samples;
  json["batch"] = s.batch;
  json["steps"] = s.steps.value();
  json["train_loss"] = s.train_loss;
  json["train_accuracy"] = s.train_accuracy;
  json["test_loss"] = s.test_loss;
  json["test_accuracy"] = s.test_accuracy;
  json["begin_s"] = s.begin_s;
  if (s.members_loss) json["members_loss"] = *s.members_loss;
  if (s.members_accuracy) json["members_accuracy"] = *s.members_accuracy;
  json["wall_s"] = s.wall_s;
  json["eval_s"] = s.eval_s;
  json["samples_per_s"] = s.samples_per_s;
  json["compute_s"] = s.compute_s;
  json["overlap_s"] = s.overlap_s;
  json["wait_s"] = s.wait_s;
  json["update_s"] = s.update_s;
  json["bytes_sent_per_worker"] = s.bytes_sent_per_worker;
  if (s.predicted_step_s) json["predicted_step_s"] = *s.predicted_step_s;
  json["measured_step_s"] = s.measured_step_s;
  if (s.predicted_bytes_per_step) json["predicted_bytes_per_step"] = *s.predicted_bytes_per_step;
  json["measured_bytes_per_step"] = s.measured_bytes_per_step;
  json["staleness_mean"] = s.staleness.mean();
  json["staleness_max"] = s.staleness.most;
  if (s.staleness.pushes > 0) json["staleness_histogram"] = histogram_of(s.staleness);
  if (!s.consensus.empty()) json["consensus_error"] = s.consensus;
  if (!s.evaluations.empty()) json["evaluations"] = list_of(s.evaluations);
  json["memory_before"] = s.memory_before;
  json["memory_peak"] = s.memory_peak;
  json["lost_nodes"] = s.lost_nodes;
  json["ledger"] = object_of(s.ledger);
  json["params_sha256"] = s.params_sha256;
  // As text, because many readers would round it as a double.
  if (s.trace_hash) json["trace_hash"] = fmt::format("{:016x}", *s.trace_hash);
  for (const auto& [key, value] : s.notes) json[key] = value;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Summary parse_summary(std::string_view text, const std::string& file) {
  Summary s;
  try {
    const Json json = Json::parse(text);
    json.at("system").get_to(s.system);
    json.at("world").get_to(s.world);
    for (const auto& [axis, choice] : json.at("recipe").items())
      s.recipe.emplace_back(axis, choice.get<std::string>());
    json.at("model").get_to(s.model);
    json.at("data").get_to(s.data);
    s.seed = Seed(json.at("seed").get<std::uint64_t>());
    json.at("parameters").get_to(s.parameters);
    json.at("workers").get_to(s.workers);
    json.at("servers").get_to(s.servers);
    json.at("epochs").get_to(s.epochs);
    s.samples = json.value("samples", s.samples);
    json.at("batch").get_to(s.batch);
    s.steps = Step(json.at("steps").get<std::uint64_t>());
    s.train_loss = number(json, "train_loss");
    s.train_accuracy = number(json, "train_accuracy");
    s.test_loss = number(json, "test_loss");
    s.test_accuracy = number(json, "test_accuracy");
    s.begin_s = number(json, "begin_s", s.begin_s);
    s.wall_s = number(json, "wall_s");
    s.eval_s = number(json, "eval_s");
    s.samples_per_s = number(json, "samples_per_s");
    s.compute_s = number(json, "compute_s");
    s.overlap_s = number(json, "overlap_s", s.overlap_s);
    s.wait_s = number(json, "wait_s");
    s.update_s = number(json, "update_s", s.update_s);
    s.bytes_sent_per_worker = number(json, "bytes_sent_per_worker");
    s.measured_step_s = number(json, "measured_step_s", s.measured_step_s);
    s.measured_bytes_per_step = number(json, "measured_bytes_per_step", s.measured_bytes_per_step);
    if (json.contains("predicted_step_s")) s.predicted_step_s = number(json, "predicted_step_s");
    if (json.contains("predicted_bytes_per_step"))
      s.predicted_bytes_per_step = number(json, "predicted_bytes_per_step");
    s.staleness = staleness_from(json);
    if (json.contains("consensus_error")) json.at("consensus_error").get_to(s.consensus);
    if (json.contains("evaluations"))
      for (const Json& row : json.at("evaluations")) s.evaluations.push_back(row_from(row));
    json.at("lost_nodes").get_to(s.lost_nodes);
    json.at("params_sha256").get_to(s.params_sha256);
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: not the summary of a run: {}", file, error.what()));
  }
  return s;
}

}  // namespace shoal
