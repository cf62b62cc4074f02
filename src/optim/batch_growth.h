// BatchGrowth: the batch grows where the learning rate would fall. A plain value, and a pure
// function of the epoch. Smith, Kindermans, Ying, Le, ICLR 2018, arXiv:1711.00489.
//
//   text form    batch of epoch e, with the first batch B
//   2@10,20      B, from epoch 10 on 2 B, from epoch 20 on 4 B
//
// The noise of SGD is proportional to eta / B: dividing eta and multiplying B anneal it alike, and
// a larger batch takes fewer steps. Epochs count from 0, like those of schedules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "optim/schedule.h"

namespace shoal {

struct BatchGrowth {
  std::uint64_t factor = 1;
  std::vector<std::uint64_t> epochs{};  // where the batch is multiplied, ascending; none: never

  bool operator==(const BatchGrowth&) const = default;
};

// An empty text means no growth. Throws ConfigError.
BatchGrowth parse_batch_growth(std::string_view text);
std::string describe(const BatchGrowth& growth);  // the text form

std::uint64_t batch_in(const BatchGrowth& growth, std::uint64_t batch, std::uint64_t epoch);

// The epochs of a run with this many samples per epoch; the last batch of each epoch may be
// smaller.
struct Epochs {
  std::uint64_t samples = 0;
  std::uint64_t batch = 0;  // the first batch; both at least 1
  BatchGrowth growth{};

  Step steps_in(std::uint64_t epoch) const;
  Step steps_of(std::uint64_t epochs) const;
  // The step that a run without growth, with steps_in(0) steps in every epoch, makes at the same
  // place: schedules use it.
  Step place_of(Step t) const;
  // The horizon of a run of `steps` steps, in such places.
  Horizon horizon(Step steps) const { return {steps_in(0), place_of(steps)}; }
};

}  // namespace shoal
