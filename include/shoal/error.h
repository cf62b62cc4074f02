// What Shoal throws: a std::runtime_error whose text says what is wrong, with which value, and what
// to do next.
#pragma once

#include <stdexcept>

namespace shoal {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the user asked for cannot be done as asked.
class ConfigError : public Error {
 public:
  using Error::Error;
};

// What the user's data or files hold cannot be used.
class DataError : public Error {
 public:
  using Error::Error;
};

}  // namespace shoal
