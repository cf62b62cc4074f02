#include "learner/learner.h"

namespace shoal {

Task<void> Learner::prefetch(Env&, Portion) { co_return; }

}  // namespace shoal
