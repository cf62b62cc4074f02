// Schedule: the learning rate as a function of the step. A plain value.
//
//   text form                  eta(t), with base eta_0; p is the fraction of the run that is done
//   constant                   eta_0
//   step:30,60,90:0.1          eta_0 times 0.1 from epoch 30 on, 0.01 from 60 on, ..
//   step:30:0.1                the same every 30 epochs
//   cosine, cosine:0.01        eta_1 + (eta_0 - eta_1) (1 + cos pi p) / 2;  eta_1 = 0, or 0.01
//                              eta_0
//   poly:2                     eta_0 (1 - p)^2
//   warmup:5+cosine            linear from zero to eta_0 in 5 epochs; then the cosine over the rest
//                              of the run. Also warmup:5%+cosine: 5 % of the run
//   linear+cosine              eta_0 is for one worker: multiplied by P. Comes first:
//   linear+warmup:5+cosine
//
// Cosine: Loshchilov & Hutter, ICLR 2017, arXiv:1608.03983 (without restarts). Warm-up and linear
// scaling: Goyal et al. 2017, arXiv:1706.02677; here the ramp begins at zero, not at the learning
// rate of one worker. Epochs of milestones count from the beginning of the run, including the
// warm-up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace shoal {

struct Schedule {
  enum class Kind : std::uint8_t { Constant, Stairs, Cosine, Poly };

  Kind kind = Kind::Constant;
  std::vector<double> milestones{};  // step: epochs at which eta falls; a single one: its multiples
  double factor = 0.1;               // step: the factor there
  double final_part = 0;             // cosine: the final value, relative to the base
  double power = 1;                  // poly
  double warmup = 0;                 // 0: none
  bool warmup_is_part = false;       // fraction of the run; false: epochs
  bool linear_scaling = false;       // the base is for one worker

  bool operator==(const Schedule&) const = default;
};

// For any other form, throws ConfigError with the text and the allowed forms.
Schedule parse_schedule(std::string_view text);
// The text form.
std::string describe(const Schedule& schedule);

// The length of the run that a schedule spans, in updates.
struct Horizon {
  Step per_epoch;
  Step total;

  bool operator==(const Horizon&) const = default;
};
// The horizon of a run of `epochs` epochs with `per_update` samples in each update; an epoch's last
// update may have fewer. `last_epoch`: samples trained in the last epoch; 0: all. Every kind of
// training that counts epochs gets its horizon here; synchronous training, which counts steps, from
// Epochs::horizon (batch_growth.h). REQUIRES: all except last_epoch are at least 1.
Horizon horizon_of(std::uint64_t samples, std::uint64_t per_update, std::uint64_t epochs,
                   std::uint64_t last_epoch);

// The learning rate of update t, counted from 0 to total - 1; later updates have the final one.
// REQUIRES: both fields of the horizon and workers are at least 1.
double eta(const Schedule& schedule, double base, Step t, const Horizon& horizon,
           std::uint64_t workers);

}  // namespace shoal
