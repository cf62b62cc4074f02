#include "sync/reductions.h"

#include <algorithm>

namespace shoal {

Reduction& Reductions::of(Updater updater, bool by_priority, const View& view) {
  const bool on_one_host = std::ranges::all_of(
      view.members, [&](const Member& m) { return m.host == view.members[0].host; });
  switch (updater) {
    case Updater::Everyone:
      if (by_priority && !on_one_host) return priority;
      return everyone;
    case Updater::Owners:
      if (on_one_host && view.size() > 1) return one_host;
      return owners;
    case Updater::Root: return root;
    case Updater::Apart: break;
  }
  return apart;
}

}  // namespace shoal
