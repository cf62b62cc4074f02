// Invariant checkers: observers of the flight recorder, a file each. They know events, not
// strategies, and count what they saw, so that a checker that saw nothing is noticed.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/recorder.h"

namespace shoal {

class Checker : public Observer {
 public:
  virtual std::string_view name() const = 0;
  std::uint64_t seen() const { return seen_; }
  const std::vector<std::string>& violations() const { return violations_; }

 protected:
  void saw() { ++seen_; }
  template <class... Args>
  void violated(const Event& event, fmt::format_string<Args...> format, Args&&... args) {
    violations_.push_back(fmt::format(
        "{}: {} [{}]", name(), fmt::format(format, std::forward<Args>(args)...), describe(event)));
  }

 private:
  std::uint64_t seen_ = 0;
  std::vector<std::string> violations_;
};

std::unique_ptr<Checker> make_replicas_equal();
std::unique_ptr<Checker> make_steps_once();
std::unique_ptr<Checker> make_samples_once();
std::unique_ptr<Checker> make_ranges_free();
std::unique_ptr<Checker> make_views_agree();
std::unique_ptr<Checker> make_no_stale_message();
std::unique_ptr<Checker> make_checkpoints_kept();
std::unique_ptr<Checker> make_reads_bounded();
std::unique_ptr<Checker> make_messages_once();
std::unique_ptr<Checker> make_weights_conserved();
std::unique_ptr<Checker> make_meetings_conserve();

std::vector<std::unique_ptr<Checker>> all_checkers();

}  // namespace shoal
