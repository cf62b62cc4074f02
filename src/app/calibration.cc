#include "app/calibration.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/build_info.h"
#include "app/compute_choice.h"
#include "base/error.h"
#include "runtime/live/mapped_file.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;  // of the file

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

Json object_of(const LinkModel& link) {
  Json object;
  object["latency_s"] = seconds(link.latency);
  object["bytes_per_s"] = link.bytes_per_s;
  object["overhead_bytes"] = link.overhead.value();
  object["one_way_above_bytes"] = link.one_way_above.value();
  object["cpu_ns_per_byte"] = link.cpu_ns_per_byte;
  return object;
}

LinkModel link_from(const Json& json) {
  LinkModel link;
  link.latency = from_seconds(json.at("latency_s").get<double>());
  link.bytes_per_s = json.at("bytes_per_s").get<double>();
  link.overhead = Bytes(json.at("overhead_bytes").get<std::uint64_t>());
  link.one_way_above = Bytes(json.at("one_way_above_bytes").get<std::uint64_t>());
  link.cpu_ns_per_byte = json.at("cpu_ns_per_byte").get<double>();
  return link;
}

CalibrationKey key_from(const Json& json) {
  CalibrationKey key;
  const Json& machine = json.at("machine");
  machine.at("cpu").get_to(key.machine.cpu);
  machine.at("cores").get_to(key.machine.cores);
  machine.at("version").get_to(key.machine.version);
  json.at("model").get_to(key.model);
  json.at("shape").get_to(key.shape);
  json.at("compute").get_to(key.compute);
  json.at("optimizer").get_to(key.optimizer);
  json.at("encoding").get_to(key.encoding);
  json.at("workers").get_to(key.workers);
  json.at("hosts").get_to(key.hosts);
  return key;
}

GradientTimes times_from(const Json& json, std::size_t tensors, const std::string& file) {
  GradientTimes times;
  json.at("batch").get_to(times.batch);
  json.at("alone_s").get_to(times.alone);
  json.at("ready_s").get_to(times.ready);
  const bool sound = times.batch > 0 && times.ready.size() == tensors && times.ready.back() > 0 &&
                     std::ranges::is_sorted(times.ready) && times.ready.front() >= 0;
  if (!sound)
    throw DataError(fmt::format(
        "{}: the gradient of batch {} has {} times for {} tensors, which must rise from 0; "
        "calibrate anew",
        file, times.batch, times.ready.size(), tensors));
  return times;
}

// When each tensor of a batch of that size is ready.
std::vector<double> ready_of(const Calibration& c, std::uint64_t batch) {
  const std::vector<GradientTimes>& all = c.gradients;
  const auto wanted = static_cast<double>(batch);
  std::vector<double> ready(c.tensors.size());
  if (all.size() == 1) {
    const double scale = wanted / static_cast<double>(all[0].batch);
    std::ranges::transform(all[0].ready, ready.begin(), [&](double s) { return s * scale; });
    return ready;
  }
  std::size_t i = 1;
  while (i + 1 < all.size() && all[i].batch < batch) ++i;
  const auto low = static_cast<double>(all[i - 1].batch);
  const auto high = static_cast<double>(all[i].batch);
  const double part = (wanted - low) / (high - low);
  for (std::size_t k = 0; k < ready.size(); ++k)
    ready[k] = std::max(0.0, all[i - 1].ready[k] + part * (all[i].ready[k] - all[i - 1].ready[k]));
  return ready;
}

}  // namespace

MachineId this_machine() {
  return {cpu_name(), static_cast<std::uint64_t>(cores_of_this_machine()), build_info().version};
}

std::string to_text(const CalibrationKey& k) {
  return fmt::format("{} | {} cores | shoal {} | {} | {} | {} | {} | {} | {} workers on {} hosts",
                     k.machine.cpu, k.machine.cores, k.machine.version, k.model, k.shape, k.compute,
                     k.optimizer, k.encoding, k.workers, k.hosts);
}

double Calibration::slowdown() const {
  const GradientTimes& last = gradients.back();
  return last.alone > 0 ? last.ready.back() / last.alone : 1;
}

std::string to_json(const Calibration& c) {
  Json json;
  json["shoal_calibration"] = kVersion;
  json["machine"] = {{"cpu", c.key.machine.cpu},
                     {"cores", c.key.machine.cores},
                     {"version", c.key.machine.version}};
  json["model"] = c.key.model;
  json["shape"] = c.key.shape;
  json["compute"] = c.key.compute;
  json["optimizer"] = c.key.optimizer;
  json["encoding"] = c.key.encoding;
  json["workers"] = c.key.workers;
  json["hosts"] = c.key.hosts;
  json["cores_a_host"] = c.cores;
  json["tensors"] = Json::array();
  for (const Elements n : c.tensors) json["tensors"].push_back(n.value());
  json["gradients"] = Json::array();
  for (const GradientTimes& g : c.gradients)
    json["gradients"].push_back(
        Json{{"batch", g.batch}, {"alone_s", g.alone}, {"ready_s", g.ready}});
  json["slowdown"] = c.slowdown();
  json["jitter"] = c.jitter;
  json["ns_per_element"] = Json{{"reduce", c.elements.reduce},
                                {"update", c.elements.update},
                                {"copy", c.elements.copy},
                                {"encode", c.elements.encode},
                                {"decode", c.elements.decode}};
  if (c.inside) json["inside"] = object_of(*c.inside);
  if (c.between) json["between"] = object_of(*c.between);
  return json.dump(2) + "\n";
}

Calibration parse_calibration(std::string_view text, const std::string& file) {
  Calibration c;
  try {
    const Json json = Json::parse(text);
    if (json.at("shoal_calibration").get<int>() != kVersion)
      throw DataError(
          fmt::format("{}: a calibration of form {}, and this program reads {}; "
                      "calibrate anew",
                      file, json.at("shoal_calibration").get<int>(), kVersion));
    c.key = key_from(json);
    json.at("cores_a_host").get_to(c.cores);
    for (const Json& n : json.at("tensors")) c.tensors.emplace_back(n.get<std::uint64_t>());
    for (const Json& g : json.at("gradients"))
      c.gradients.push_back(times_from(g, c.tensors.size(), file));
    json.at("jitter").get_to(c.jitter);
    const Json& elements = json.at("ns_per_element");
    elements.at("reduce").get_to(c.elements.reduce);
    elements.at("update").get_to(c.elements.update);
    elements.at("copy").get_to(c.elements.copy);
    elements.at("encode").get_to(c.elements.encode);
    elements.at("decode").get_to(c.elements.decode);
    if (json.contains("inside")) c.inside = link_from(json.at("inside"));
    if (json.contains("between")) c.between = link_from(json.at("between"));
  } catch (const Json::exception& error) {
    throw DataError(
        fmt::format("{}: no calibration: {}; make one with shoal calibrate", file, error.what()));
  }
  std::ranges::sort(c.gradients, {}, &GradientTimes::batch);
  const auto same = [](const GradientTimes& a, const GradientTimes& b) {
    return a.batch == b.batch;
  };
  if (c.tensors.empty() || c.gradients.empty() || c.cores <= 0 ||
      std::ranges::adjacent_find(c.gradients, same) != c.gradients.end())
    throw DataError(
        fmt::format("{}: {} tensors, {} batches, {} cores a host: no calibration has those; "
                    "calibrate anew",
                    file, c.tensors.size(), c.gradients.size(), c.cores));
  return c;
}

Calibration read_calibration(const std::string& file) {
  const FileView view = map_file(file);
  return parse_calibration({reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()},
                           file);
}

std::string foreign(const Calibration& c, const MachineId& here) {
  const MachineId& there = c.key.machine;
  if (there.cpu != here.cpu)
    return fmt::format("it was measured on a {}, and this is a {}", there.cpu, here.cpu);
  if (there.cores != here.cores)
    return fmt::format("it was measured on {} cores, and here are {}", there.cores, here.cores);
  if (there.version != here.version)
    return fmt::format("it was measured with shoal {}, and this is {}", there.version,
                       here.version);
  return "";
}

CalibratedModel model_of(const Calibration& c, std::uint64_t batch, Bytes bucket_bytes) {
  const std::vector<double> ready = ready_of(c, batch);
  const auto ns = [&](double s) { return std::round(s * 1e9 / static_cast<double>(batch)); };
  CalibratedModel model;
  // The end of the forward pass is not reported; it takes about a third, and ends before the first
  // gradient.
  double before = std::min(ready.front(), ready.back() / 3);
  model.pace.forward = ns(before);
  bool full = true;
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    if (full) {
      model.buckets.emplace_back(0);
      model.pace.backward.push_back(0);
    }
    model.buckets.back() += c.tensors[i];
    model.pace.backward.back() += ns(ready[i] - before);
    before = std::max(before, ready[i]);
    full = model.buckets.back().value() * sizeof(float) >= bucket_bytes.value();
  }
  return model;
}

Cluster cluster_of(const Calibration& c, std::uint64_t workers, std::uint64_t servers,
                   std::uint64_t hosts) {
  Cluster cluster;
  HostModel host;
  host.cores = static_cast<unsigned>(std::max(1.0, std::round(c.cores)));
  if (c.inside) host.memory = *c.inside;
  if (c.between) host.nic = *c.between;
  cluster.hosts.assign(hosts, host);
  const std::uint64_t nodes = workers + servers;
  for (std::uint64_t i = 0; i < nodes; ++i)
    cluster.nodes.push_back(Placement{HostId(static_cast<std::uint32_t>(i * hosts / nodes)),
                                      i < workers ? Role::Worker : Role::Server});
  set_costs(cluster, c.elements);
  if (c.jitter > 0) cluster.stragglers.assign(workers, {Straggler::Kind::Jitter, c.jitter});
  return cluster;
}

}  // namespace shoal
