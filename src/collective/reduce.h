// The loops of reductions. They add in the given order on every machine.
#pragma once

#include <span>
#include <vector>

#include "runtime/endpoint.h"
#include "runtime/env.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// a += b. REQUIRES: a.size() == b.size(); they do not overlap.
void add(std::span<float> a, std::span<const float> b);

// How to write the result of a large sum: through the caches, or past them if the result would not
// stay there; streamed stores also save reading the destination first.
enum class WriteMode : std::uint8_t { Cached, Streamed };

// out = ((terms[0] + terms[1]) + terms[2]) + ..; unless streamed, out may be one of the terms.
// REQUIRES: every term has out.size() elements.
void sum(std::span<float> out, std::span<const float* const> terms, WriteMode mode);

// Receives into `scratch`, for the caller to add to `mine`; or adds a short message directly from
// the receive buffer to `out`, which takes no longer than copying it. An operation awaited together
// with this one may send `mine`, and must begin before it.
class [[nodiscard]] SumOp final : public RecvOp {
 public:
  struct Result {
    Received received;
    bool summed;  // out = mine + message; else the message is in the room
  };
  SumOp(Endpoint& endpoint, Match m, Range scratch, Range mine, Range out)
      : RecvOp(endpoint, m, scratch.bytes()), mine_(mine), out_(out) {}
  SumOp(SumOp&&) = default;
  ~SumOp() override { detach(); }
  Result await_resume() { return {RecvOp::await_resume(), summed_}; }
  bool take_in(ConstBuf payload) override;

 private:
  Range mine_;
  Range out_;
  bool summed_ = false;
};

// sum() as work, in slices: if the node's thread does the work, it handles messages in between.
// `terms` begin where `out` does. For a phantom the vector may be empty, and the work takes the
// time of `count` terms.
Task<void> sum_up(Env& env, Range out, std::uint64_t count, std::vector<const float*> terms);

}  // namespace shoal
