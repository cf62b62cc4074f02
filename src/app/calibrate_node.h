// The program of a node that measures: its workers do together what the workers of a training do,
// one thing after the other, and each time tell each other what they found.
//
//   a gradient      of the first worker alone, then of all at once: when each tensor is there
//   adding, copies, updates       all at once, of as many elements as the model has
//   an encoding     of all at once: a gradient that is encoded on its way against one that is not
//   links           inside a host and between two: collective/links.h; then gradients of all while
//                   their messages keep the links busy, which tells what those take of the cores
//
// Takes one or two seconds for each batch, and a few gradients for each kind of link.
// Failure: PeerLost; a measurement needs all workers.
#pragma once

#include <cstdint>
#include <vector>

#include "app/calibration.h"
#include "codec/encoding.h"
#include "learner/learner.h"
#include "optim/rule.h"
#include "runtime/node.h"
#include "runtime/task.h"

namespace shoal {

struct CalibrateOptions {
  std::vector<std::uint64_t> batches = {64};  // ascending
  std::uint64_t samples = 64;                 // that there are
  std::uint64_t workers = 1;
  Rule rule;
  Encoding encoding{};       // Fp32: none is measured
  double seconds = 0.5;      // for the gradients of a batch
  std::uint64_t kernel = 0;  // of this process: those of one kernel share its cores
  std::uint64_t cores = 1;   // of it
};

// `learner` has a bucket for each tensor. All but the key of `found` is filled in, on every worker.
Task<void> calibrate_node(Node& node, Learner& learner, const CalibrateOptions& options,
                          Calibration& found);

}  // namespace shoal
