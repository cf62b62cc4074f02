// Costs that `shoal simulate` has measured, kept on this machine: the same command simulates the
// same run again, and not one of slightly other costs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace shoal {

// A folder with a small file for each thing that was measured. Thread safety: of several processes
// that measure the same thing at once, each ends with the text that one of them has kept.
class KeptCosts {
 public:
  // An empty folder keeps nothing.
  explicit KeptCosts(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The text that is kept under `key`, which is one line. Where none is, or `anew`, it is measured
  // and kept. Throws DataError when the folder cannot be written.
  std::string find(const std::string& key, bool anew, const std::function<std::string()>& measure);

 private:
  std::filesystem::path folder_;
};

}  // namespace shoal
