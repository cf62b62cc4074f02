// The gradient of a push, made dense from the form in which it was sent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ps/pushed_part.h"
#include "ps/requests.h"
#include "ps/server_context.h"
#include "ps/shard_map.h"
#include "ps/shard_state.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class GradientForms {
 public:
  explicit GradientForms(ServerContext& server) : server_(server), keys_(server.shards.size()) {}

  // Returns nothing if the keys of a part are not known here. Throws Corrupt for a malformed
  // gradient.
  // REQUIRES: the form is not Plain.
  Task<std::optional<Gradient>> dense(Holder from, std::uint32_t shard, GradientForm form,
                                      Gradient packed);
  void forget_lost(std::uint32_t shard);

 private:
  Task<Gradient> zero(std::uint32_t shard);
  Task<Gradient> of_factors(std::uint32_t shard, const Gradient& packed);
  Task<std::optional<Gradient>> of_part(Holder from, std::uint32_t shard, const Gradient& packed);
  Task<Gradient> of_encoded(NodeId from, std::uint32_t shard, const Gradient& message);

  ServerContext& server_;
  // By shard: the keys of the last part that each worker sent with its keys.
  std::vector<std::map<Holder, Keys>> keys_;
};

}  // namespace shoal
