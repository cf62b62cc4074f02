// Normalization of a network's layers: choices that change the computation between parameters, not
// the parameters.
//
//   batch norm    statistics of a worker's whole batch, of groups of K of its samples (ghost batch
//                 normalization: Hoffer, Hubara, Soudry, NIPS 2017, arXiv:1705.08741, Algorithm 1),
//                 or of the batches of all workers
//   weight norm   w = g v / |v| for each output of a fully connected or convolutional layer
//                 (Salimans & Kingma, NIPS 2016, arXiv:1602.07868, equation 2)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shoal {

struct BatchNorm {
  enum class Over : std::uint8_t { Local, Group, Workers };

  Over over = Over::Local;
  std::uint32_t group = 0;  // with Over::Group: K, at least 2

  bool operator==(const BatchNorm&) const = default;
};
// "local", "group:32", "sync". Throws ConfigError for anything else.
BatchNorm parse_batch_norm(std::string_view text);
std::string to_string(const BatchNorm& norm);

struct Normalization {
  BatchNorm batch_norm{};
  bool weight_norm = false;

  bool operator==(const Normalization&) const = default;
};

// Sums numbers over all workers in the middle of their passes.
class InPassReducer {
 public:
  virtual ~InPassReducer() = default;
  // Replaces each number by its sum over the workers, with the same bits on all. Called on the
  // pass's thread, where it waits for the others: every worker makes the same calls with the same
  // number of values. Throws Cancelled when the pass is given up.
  virtual void add_up(std::span<double> numbers) = 0;
};

}  // namespace shoal
