// An update rule of your own, in place of one that --optimizer names: wherever parameters are
// updated, at every worker, at the owner of a part, or at the servers.
//
//   shoal::UpdateRule sign{.name = "sign", .apply = [](const shoal::Update& u) {
//     for (std::size_t i = 0; i < u.w.size(); ++i)
//       u.w[i] -= static_cast<float>(u.eta) * (u.g[i] > 0 ? 1.0F : -1.0F);
//   }};
//
// It is called for pieces of the parameters, in any order and on several threads, and for the same
// piece at all who hold a copy of it, who must come to the same bits: it uses what it is given and
// nothing else, and what becomes of a parameter depends on no other one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace shoal {

struct Update {
  std::span<float> w;                     // to be changed
  std::span<const float> g;               // the mean gradient of the samples of the update
  std::array<std::span<float>, 2> slots;  // state of each parameter, zero at first; as many as
                                          // the rule has
  double eta = 0;                         // the step size now
  std::uint64_t t = 1;                    // counts updates, from 1
};

struct UpdateRule {
  std::string name = "own";  // for the records; a checkpoint goes on only with the same
  unsigned slots = 0;        // numbers of state a parameter has, 2 at most
  std::function<void(const Update& update)> apply = {};
};

}  // namespace shoal
