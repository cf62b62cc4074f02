// The loops of reductions. Sums are added in the order given, whatever the machine.
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

// How the result of a large sum is written: through the caches, or around them where it is too
// large to be found there again, and memory that is only written need not be read first.
enum class WriteMode : std::uint8_t { Cached, Streamed };

// out = ((terms[0] + terms[1]) + terms[2]) + ..; out may be one of the terms if it is not streamed.
// REQUIRES: every term has out.size() elements.
void sum(std::span<float> out, std::span<const float* const> terms, WriteMode mode);

// A receive into `scratch`, which is then to be added to `mine`; or whose sum was formed already,
// straight from where a short message lies: that takes no longer than to copy it from there. `mine`
// may be sent by what is awaited along with it, and begun before it.
class [[nodiscard]] SumOp final : public RecvOp {
 public:
  struct Result {
    Received received;
    bool summed;  // out = mine + what came; else it is in the room
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

// sum() as work, in slices, so that messages get their turn between two where the thread of the
// node does the work. `terms` begin where `out` does; the vector may be empty for a phantom, which
// costs the time of `count` terms.
Task<void> sum_up(Env& env, Range out, std::uint64_t count, std::vector<const float*> terms);

}  // namespace shoal
