#include "learner/batch.h"

#include <fmt/core.h>

namespace shoal {
namespace {

std::string describe_input(const SampleShape& s) {
  std::string sizes;
  for (const std::int64_t d : s.shape) sizes += (sizes.empty() ? "" : "x") + std::to_string(d);
  switch (s.input) {
    case InputKind::Dense: return sizes + " numbers";
    case InputKind::Sparse: return "a few of " + sizes + " numbers";
    case InputKind::Tokens: return sizes + " symbols";
  }
  return sizes;
}

}  // namespace

std::string describe(const SampleShape& s) {
  switch (s.target) {
    case TargetKind::Classes:
      if (s.classes == 0) return fmt::format("{}, with labels", describe_input(s));
      return fmt::format("{}, {} classes", describe_input(s), s.classes);
    case TargetKind::Values:
      return fmt::format("{}, {} values to approximate", describe_input(s), s.classes);
    case TargetKind::Next:
      return fmt::format("{} of an alphabet of {}", describe_input(s), s.classes);
  }
  return describe_input(s);
}

}  // namespace shoal
