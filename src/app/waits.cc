#include "app/waits.h"

namespace shoal {

Awake who_stays_awake(const std::string& waits, int computing, int cores) {
  if (waits == "block" || (waits == "auto" && computing > cores)) return Awake::Nobody;
  return 2 * computing <= cores ? Awake::Compute : Awake::Loop;
}

bool leaves_slow_cores(const std::string& wish, int threads, int computing, int cores) {
  return wish == "auto" && threads == 1 && computing < cores;
}

}  // namespace shoal
