// EarlyPass: the pass of the next step, begun while this step is still exchanged (`--order
// priority`; priority_reduction.h). It reads the copy of the state in which the next state is
// made, and waits at a gate for the parameters of each layer.
//
// Failure: a view that begins before the next step drops the pass, and its samples, which were
// never settled, are dealt again.
#pragma once

#include <exception>
#include <memory>
#include <optional>

#include "collective/group.h"
#include "learner/gate.h"
#include "learner/learner.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "sync/dealing.h"
#include "sync/lending.h"

namespace shoal {

class EarlyPass {
 public:
  EarlyPass(Node& node, Learner& learner, Replica& replica, const Dealing& dealing,
            Lending& lending)
      : node_(node), learner_(learner), replica_(replica), dealing_(dealing), lending_(lending) {}

  void begin_view();
  // Called when this worker's gradient of this step is computed: begins the next one, whose
  // parameters come through the gate. Without a gate it begins none.
  void begin(const Group& group, std::shared_ptr<ParameterGate> gate);
  // A step begins. A gradient that was begun in the last step becomes that of the replica.
  Task<void> take(const Group& group);
  bool taken() const { return taken_ != nullptr; }
  // The buckets of the taken pass, or of another pass.
  Channel<Ready>& ready_or(Channel<Ready>& other) { return taken() ? taken_->ready : other; }
  // Waits for the end of the taken pass.
  Task<void> follow(StepReport& report);
  // Ends passes that wait at a gate.
  void refuse();

 private:
  struct Pass {
    Portion portion;
    std::shared_ptr<ParameterGate> gate;
    Range w, g;
    Channel<Ready> ready;
    Score score;
    Time begun{}, ended_at{};
    bool ended = false;
    std::exception_ptr error;
    Signal over;
  };
  Task<void> run(Pass& pass);
  static Task<void> end_of(Pass& pass);

  Node& node_;
  Learner& learner_;
  Replica& replica_;
  const Dealing& dealing_;
  Lending& lending_;
  std::unique_ptr<Pass> next_;   // of the next step,
  std::unique_ptr<Pass> taken_;  // and of this one
};

}  // namespace shoal
