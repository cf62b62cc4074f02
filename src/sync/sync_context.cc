#include "sync/sync_context.h"

#include "codec/encoding.h"

namespace shoal {
namespace {

bool clips_before(const InStep& recipe) { return traits(recipe.encode.as).gathers_momentum; }

Rule rule_of_update(const TrainingTask& task, const InStep& recipe) {
  Rule rule = task.rule;
  if (clips_before(recipe)) rule.clip_norm = 0;
  return rule;
}

}  // namespace

SyncContext::SyncContext(const TrainingTask& of, const InStep& by, const SyncTuning& sizes)
    : task(of),
      recipe(by),
      tuning(sizes),
      local_clip(clips_before(by) ? of.rule.clip_norm : 0),
      rule(rule_of_update(of, by)) {}

}  // namespace shoal
