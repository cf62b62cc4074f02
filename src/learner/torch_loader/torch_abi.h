// The interface between the libtorch plugin (shoal_torch.so) and the program that loads it.
//
// The plugin exports one C function, shoal_torch_api, which returns a table of functions. Its first
// field never moves, so that any loader can refuse any plugin; the rest may change with
// kTorchAbiVersion. Program and plugin come from one build, so C++ types and exceptions may cross;
// shoal_version is compared as well, to refuse a plugin of another release.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "learner/batch.h"
#include "learner/learner.h"

namespace shoal {

inline constexpr std::uint32_t kTorchAbiVersion = 4;
inline constexpr const char* kTorchEntryName = "shoal_torch_api";
inline constexpr const char* kTorchPluginFile = "shoal_torch.so";

struct TorchDescription {
  std::string version;  // of the libtorch that is loaded
  int threads = 0;      // per operation
  std::string blas;     // the library for matrix products, and its kernels
  std::string details;  // libtorch's description of its parallel backend, several lines
};

// How libtorch uses its cores; for all learners of the process.
struct TorchCompute {
  int threads = 1;              // per operation
  bool flush_denormals = true;  // numbers too small for full precision count as zero
  bool deterministic = false;   // only algorithms whose results do not depend on timing
};

struct TorchLearnerOptions {
  Seed seed{};
  Bytes bucket_bytes{1 << 20};  // the tensor that reaches this completes a bucket
  bool factors = false;         // fully connected weights become buckets of their own, with factors
  bool channels_last = false;   // memory format of images and of convolutions' weights
  std::uint64_t eval_batch = 256;
};

struct TorchTask {
  std::string model;  // the value of --model
  Normalization normalization;
  std::shared_ptr<const BatchSource> train, test;
  TorchLearnerOptions options;
};

struct TorchApi {
  std::uint32_t abi_version;
  const char* shoal_version;

  TorchDescription (*describe)();
  void (*set_compute)(const TorchCompute&);
  // Throws ConfigError: an unknown model, or one that does not fit the data.
  std::unique_ptr<Learner> (*make_learner)(const TorchTask&);
};

using TorchEntry = const TorchApi* (*)();

}  // namespace shoal
