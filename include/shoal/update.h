// An update rule of your own, in place of --optimizer. It is called wherever parameters are
// updated: at every worker, at the owner of a shard, or at the servers.
//
//   shoal::UpdateRule sign{.name = "sign", .apply = [](const shoal::Update& u) {
//     for (std::size_t i = 0; i < u.w.size(); ++i)
//       u.w[i] -= static_cast<float>(u.eta) * (u.g[i] > 0 ? 1.0F : -1.0F);
//   }};
//
// It is called for pieces of the parameters, in any order and on several threads. Every holder of a
// copy calls it for the same piece and must get the same bits, so it may use only its argument, and
// the update of a parameter must not depend on other parameters.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace shoal {

struct Update {
  std::span<float> w;                     // changed by the rule
  std::span<const float> g;               // the mean gradient of the samples of the update
  std::array<std::span<float>, 2> slots;  // state of each parameter, initially zero; as many as the
                                          // rule has
  double eta = 0;                         // learning rate of this update
  std::uint64_t t = 1;                    // number of the update, from 1
};

struct UpdateRule {
  std::string name = "own";  // for the records; a resumed checkpoint must have the same name
  unsigned slots = 0;        // numbers of state per parameter, at most 2
  std::function<void(const Update& update)> apply = {};
};

}  // namespace shoal
