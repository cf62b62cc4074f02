#include "sim/checkers/checker.h"

namespace shoal {

std::vector<std::unique_ptr<Checker>> all_checkers() {
  std::vector<std::unique_ptr<Checker>> checkers;
  checkers.push_back(make_replicas_equal());
  checkers.push_back(make_steps_once());
  checkers.push_back(make_samples_once());
  checkers.push_back(make_ranges_free());
  checkers.push_back(make_views_agree());
  checkers.push_back(make_no_stale_message());
  checkers.push_back(make_checkpoints_kept());
  checkers.push_back(make_reads_bounded());
  checkers.push_back(make_messages_once());
  checkers.push_back(make_weights_conserved());
  checkers.push_back(make_meetings_conserve());
  return checkers;
}

}  // namespace shoal
