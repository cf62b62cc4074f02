#include "optim/batch_growth.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"

namespace shoal {
namespace {

// Larger factors would overflow a batch; no data has that many samples.
constexpr std::uint64_t kFactorMax = 1000;
constexpr std::size_t kEpochsMax = 8;

[[noreturn]] void refuse_growth(std::string_view text, std::string_view why) {
  throw ConfigError(
      fmt::format("--batch-growth {}: {}; write a factor and epochs, as in 2@10,20", text, why));
}

std::uint64_t number(std::string_view text, std::string_view word) {
  const auto n = parse_number<std::uint64_t>(word);
  if (!n) refuse_growth(text, fmt::format("'{}' is not an integer", word));
  return *n;
}

}  // namespace

BatchGrowth parse_batch_growth(std::string_view text) {
  BatchGrowth growth;
  if (text.empty()) return growth;
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) refuse_growth(text, "the epochs are missing");
  growth.factor = number(text, text.substr(0, at));
  if (growth.factor < 2 || growth.factor > kFactorMax)
    refuse_growth(text, fmt::format("the factor is 2 to {}", kFactorMax));
  std::string_view rest = text.substr(at + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::uint64_t epoch = number(text, rest.substr(0, comma));
    if (epoch == 0) refuse_growth(text, "its epochs are numbers above 0");
    if (!growth.epochs.empty() && epoch <= growth.epochs.back())
      refuse_growth(text, "its epochs must rise");
    if (growth.epochs.size() == kEpochsMax)
      refuse_growth(text, fmt::format("it has more than {} epochs", kEpochsMax));
    growth.epochs.push_back(epoch);
    if (comma == std::string_view::npos) return growth;
    rest.remove_prefix(comma + 1);
  }
}

std::string describe(const BatchGrowth& growth) {
  std::string text;
  for (const std::uint64_t epoch : growth.epochs)
    text += fmt::format("{}{}", text.empty() ? fmt::format("{}@", growth.factor) : ",", epoch);
  return text;
}

std::uint64_t batch_in(const BatchGrowth& growth, std::uint64_t batch, std::uint64_t epoch) {
  for (const std::uint64_t e : growth.epochs)
    if (e <= epoch) batch *= growth.factor;
  return batch;
}

Step Epochs::steps_in(std::uint64_t epoch) const {
  const std::uint64_t n = batch_in(growth, batch, epoch);
  return Step((samples + n - 1) / n);
}

Step Epochs::steps_of(std::uint64_t epochs) const {
  Step steps{0};
  std::uint64_t from = 0;
  for (const std::uint64_t e : growth.epochs) {
    const std::uint64_t to = std::min(e, epochs);
    steps = steps + Step(steps_in(from).value() * (to - from));
    from = to;
  }
  return steps + Step(steps_in(from).value() * (epochs - from));
}

Step Epochs::place_of(Step t) const {
  const std::uint64_t each = steps_in(0).value();
  std::uint64_t from = 0;
  for (const std::uint64_t e : growth.epochs) {
    if (steps_of(e) > t) break;
    from = e;
  }
  const std::uint64_t here = steps_in(from).value();
  const std::uint64_t later = (t - steps_of(from)).value();
  return Step((from + later / here) * each + later % here * each / here);
}

}  // namespace shoal
