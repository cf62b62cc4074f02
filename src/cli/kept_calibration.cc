#include "cli/kept_calibration.h"

#include <fmt/core.h>

#include <cstdio>
#include <fstream>

#include "app/predict.h"
#include "app/scratch_folder.h"
#include "base/error.h"
#include "base/hash.h"
#include "cli/own_run.h"
#include "cli/torch_run.h"
#include "codec/encoding.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSeconds = "0.3";  // for the gradients of an automatic calibration

bool is_kept(const fs::path& file, const CalibrationKey& key) {
  if (!fs::is_regular_file(file)) return false;
  try {
    return read_calibration(file).key == key;
  } catch (const DataError&) {
    return false;
  }
}

// Runs this program, as a user would.
OwnRun calibrate(const TrainRun& run, const fs::path& file) {
  const TrainFlags& f = run.flags;
  std::vector<std::string> words = {"calibrate",
                                    "--model",
                                    f.model,
                                    "--data",
                                    f.data,
                                    "--workers",
                                    std::to_string(run.plan.workers),
                                    "--batch",
                                    std::to_string(run.plan.batch),
                                    "--optimizer",
                                    std::string(to_string(run.plan.rule.kind)),
                                    "--encode",
                                    to_string(encode_of(run.plan.recipe).as),
                                    "--threads",
                                    std::to_string(run.choice.threads),
                                    "--blas",
                                    run.choice.blas.empty() ? "default" : run.choice.blas,
                                    "--memory-format",
                                    run.choice.channels_last ? "channels-last" : "contiguous",
                                    "--length",
                                    std::to_string(f.length),
                                    "--seconds",
                                    kSeconds,
                                    "--out",
                                    file.string(),
                                    "--quiet"};
  if (f.augment) words.emplace_back("--augment");
  if (!f.hosts.empty()) words.insert(words.end(), {"--hosts", f.hosts});
  if (!f.listen.empty()) words.insert(words.end(), {"--listen", f.listen});
  const ScratchFolder scratch("calibration");
  return run_own(words, scratch / "log");
}

}  // namespace

void write_calibration(const Calibration& calibration, const fs::path& file) {
  std::error_code ignored;  // an error shows when the file is opened
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
  std::ofstream stream(file, std::ios::binary);
  stream << to_json(calibration);
  if (!stream.flush())
    throw DataError(
        fmt::format("cannot write {}; is there space, and write permission?", file.string()));
}

fs::path calibration_file(const CalibrationKey& key) {
  const fs::path folder = cache_folder();
  if (folder.empty()) return folder;
  const std::string text = to_text(key);
  const std::uint64_t name = hash_of(std::as_bytes(std::span<const char>(text)));
  return folder / "calibrations" / fmt::format("{:016x}.json", name);
}

std::optional<Prediction> prediction_for(const TrainRun& run) {
  const bool launched = run.topology.role != ProcessRole::Worker;
  const auto none = [&](const std::string& why) -> std::optional<Prediction> {
    if (!run.flags.quiet) fmt::print("predicted nothing: {}\n", why);
    return std::nullopt;
  };
  const CalibrationKey key = key_of(run);
  const fs::path file = calibration_file(key);
  if (file.empty()) return none("there is no cache folder for a calibration");
  if (!is_kept(file, key)) {
    if (!wish_of(run.flags).probe) return std::nullopt;  // probing is switched off
    if (!launched)
      return none(
          "no calibration was found; start `shoal calibrate --keep` in the same way as this run");
    const OwnRun made = calibrate(run, file);
    if (!made.ok) return none("the calibration failed: " + made.why);
    if (!is_kept(file, key)) return none("the calibration is for another run");
  }
  try {
    return predict(run.plan, read_calibration(file), bucket_bytes_of(run.flags));
  } catch (const Error& error) {
    return none(error.what());
  }
}

}  // namespace shoal
