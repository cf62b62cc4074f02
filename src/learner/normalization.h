// How the layers of a network are normalized: choices that change what is computed between two
// parameters, and not which they are.
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
  std::uint32_t group = 0;  // of Over::Group: K, at least 2

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

// Where the passes of all workers meet, each in the middle of its own.
class InPassReducer {
 public:
  virtual ~InPassReducer() = default;
  // Replaces each number by its sum over the workers, which has the same bits on all. Called where
  // the pass runs, and waits there for the others: every worker calls it as often, with as many
  // numbers. Throws Cancelled when the pass is given up.
  virtual void add_up(std::span<double> numbers) = 0;
};

}  // namespace shoal
