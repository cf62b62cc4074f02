// The exceptions of Shoal: std::runtime_errors whose text names the problem, the value, and the
// next action.
#pragma once

#include <stdexcept>

namespace shoal {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The user's request cannot be fulfilled.
class ConfigError : public Error {
 public:
  using Error::Error;
};

// The user's data or files cannot be used.
class DataError : public Error {
 public:
  using Error::Error;
};

}  // namespace shoal
