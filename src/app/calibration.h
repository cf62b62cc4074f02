// calibration.json: what a model's steps and the links between its workers take, as measured by
// `shoal calibrate`, and the simulated cluster that this makes.
//
// Times are those of all workers at once, since that is how they work: cores that share memory and
// clocks are slower together than one of them alone. A gradient's time goes by tensor, in the order
// in which backward makes them, so that it tells when a bucket of any size is ready.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/calibrate.h"
#include "sim/cluster.h"
#include "train/paced_learner.h"

namespace shoal {

struct MachineId {
  std::string cpu;
  std::uint64_t cores = 0;
  std::string version;  // of this program

  bool operator==(const MachineId&) const = default;
};
MachineId this_machine();

// The subject of a calibration; a different subject needs another calibration.
struct CalibrationKey {
  MachineId machine;
  std::string model;
  std::string shape;      // of its samples
  std::string compute;    // describe(ComputeChoice)
  std::string optimizer;  // whose updates, and
  std::string encoding;   // whose encodings were measured
  std::uint64_t workers = 1;
  std::uint64_t hosts = 1;  // that they were on

  bool operator==(const CalibrationKey&) const = default;
};
std::string to_text(const CalibrationKey& key);  // one line

// Seconds, of a gradient.
struct GradientTimes {
  std::uint64_t batch = 0;
  double alone = 0;           // of one worker, while the others wait
  std::vector<double> ready;  // until each tensor's is there; the last one is the end
};

struct Calibration {
  CalibrationKey key;
  double cores = 1;  // of a host, for its workers: a part of the machine's where hosts share it
  std::vector<Elements> tensors;         // in the order in which they become ready
  std::vector<GradientTimes> gradients;  // by batch, ascending; one at least
  double jitter = 0;                     // of a gradient's time: deviation, as a part of it
  ElementCosts elements;
  std::optional<LinkModel> inside, between;  // of hosts: which there are

  // How much slower all together are than one.
  double slowdown() const;
};

std::string to_json(const Calibration& calibration);
// Throws DataError: no calibration, or one that makes no sense.
Calibration parse_calibration(std::string_view text, const std::string& file);
Calibration read_calibration(const std::string& file);

// Why a calibration does not say what this machine does; empty: it is this machine's.
std::string foreign(const Calibration& calibration, const MachineId& here);

// The gradient of a batch, in buckets of at least so many bytes: those sizes, and when each is
// ready. Between two batches that were measured time is taken to grow evenly.
struct CalibratedModel {
  std::vector<Elements> buckets;
  Pace pace;
};
CalibratedModel model_of(const Calibration& calibration, std::uint64_t batch, Bytes bucket_bytes);

// The measured workers and servers, dealt in turn to this number of hosts.
Cluster cluster_of(const Calibration& calibration, std::uint64_t workers, std::uint64_t servers,
                   std::uint64_t hosts);

}  // namespace shoal
