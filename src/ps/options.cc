#include "ps/options.h"

#include <algorithm>

namespace shoal {

Fetch parse_fetch(std::string_view text) { return parse_choice<Fetch>("--fetch", text); }

std::string to_string(const Fetch& f) { return choice_text(f); }

std::uint32_t steps_of(const Fetch& f) {
  const auto* const every = std::get_if<fetch::Every>(&f);
  return every != nullptr ? every->steps : 1;
}

Compensation parse_compensation(std::string_view text) {
  return parse_choice<Compensation>("--compensate", text);
}

std::string to_string(const Compensation& c) { return choice_text(c); }

double lambda_of(const Compensation& c) {
  return std::visit([](const auto& chosen) { return chosen.lambda; }, c);
}

void read_value(std::string_view text, Encoding& value) { value = parse_encoding(text); }
std::vector<std::string> some_forms(const Encoding&) {
  return encoding_texts([](const EncodingExamples& e) { return e.models; });
}

std::uint64_t samples_per_update(const ParameterServerOptions& ps, std::uint64_t batch,
                                 std::uint64_t workers, std::uint64_t hosts) {
  // A worker pushes before it reads.
  const bool every = !reads_when_stale(ps.fetch);
  const std::uint64_t steps = every ? std::min(ps.push_every, steps_of(ps.fetch)) : ps.push_every;
  const std::uint64_t groups = count_groups(ps.groups, workers, hosts);
  return batch * steps * ps.write_back * pushes_per_update(ps.consistency, groups) * workers /
         groups;
}

}  // namespace shoal
