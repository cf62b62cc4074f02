#include "train/summary.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;  // keys stay in the order in which people read them

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

// How many pushes were 0, 1, .. updates late; without the zeros at its end.
Json histogram_of(const Staleness& staleness) {
  std::vector<std::uint64_t> bins = staleness.bins;
  while (!bins.empty() && bins.back() == 0) bins.pop_back();
  return bins;
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
  json["batch"] = s.batch;
  json["steps"] = s.steps.value();
  json["train_loss"] = s.train_loss;
  json["train_accuracy"] = s.train_accuracy;
  json["test_loss"] = s.test_loss;
  json["test_accuracy"] = s.test_accuracy;
  json["wall_s"] = s.wall_s;
  json["eval_s"] = s.eval_s;
  json["samples_per_s"] = s.samples_per_s;
  json["compute_s"] = s.compute_s;
  json["wait_s"] = s.wait_s;
  json["bytes_sent_per_worker"] = s.bytes_sent_per_worker;
  json["staleness_mean"] = s.staleness.mean();
  json["staleness_max"] = s.staleness.most;
  if (s.staleness.pushes > 0) json["staleness_histogram"] = histogram_of(s.staleness);
  if (!s.consensus.empty()) json["consensus_error"] = s.consensus;
  json["memory_before"] = s.memory_before;
  json["memory_peak"] = s.memory_peak;
  json["lost_nodes"] = s.lost_nodes;
  json["ledger"] = object_of(s.ledger);
  json["params_sha256"] = s.params_sha256;
  // As text: many readers keep numbers as doubles, which would round it.
  if (s.trace_hash) json["trace_hash"] = fmt::format("{:016x}", *s.trace_hash);
  for (const auto& [key, value] : s.notes) json[key] = value;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Summary parse_summary(std::string_view text, const std::string& file) {
  Summary s;
  try {
    const Json json = Json::parse(text);
    const auto number = [&](const char* key) {
      const Json& value = json.at(key);
      return value.is_null() ? kUnknown : value.get<double>();
    };
    json.at("model").get_to(s.model);
    json.at("data").get_to(s.data);
    json.at("workers").get_to(s.workers);
    json.at("epochs").get_to(s.epochs);
    s.steps = Step(json.at("steps").get<std::uint64_t>());
    s.train_loss = number("train_loss");
    s.train_accuracy = number("train_accuracy");
    s.test_loss = number("test_loss");
    s.test_accuracy = number("test_accuracy");
    s.wall_s = number("wall_s");
    s.samples_per_s = number("samples_per_s");
    json.at("lost_nodes").get_to(s.lost_nodes);
    json.at("params_sha256").get_to(s.params_sha256);
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: no summary of a run: {}", file, error.what()));
  }
  return s;
}

}  // namespace shoal
