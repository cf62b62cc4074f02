#include "sync/exchange_choice.h"

#include <algorithm>
#include <vector>

#include "encoded/choice.h"
#include "sync/operations.h"

namespace shoal {

// Encoded gradients are summed on all members, for any updater of the recipe.
Updater ExchangeChoice::updater() const {
  return encoded_.is_chosen() ? Updater::Everyone : context_.recipe.updater;
}

Task<std::string> ExchangeChoice::choose(const Group& group, bool in_chunks, bool anew) {
  if (encoded_.is_open() && group.size() > 1) {
    std::string why = co_await choose_encodings(group, anew);
    co_return why;
  }
  const bool open = updater() == Updater::Everyone && context_.recipe.exchange == Exchange::Auto &&
                    !in_chunks && !encodes(context_.recipe) && group.size() > 1;
  if (!open) co_return "";
  room_.emplace(node_.endpoint, learner_.substance());
  costs_ = co_await known_links(group, *room_, "links", operation(operations::kLinks));
  const Bytes size(replica_.N.value() * sizeof(float));
  co_return shoal::choose(costs_, shape_of(group), size).why;
}

Exchange ExchangeChoice::of(const Group& group, Bytes size) const {
  const Exchange exchange = context_.recipe.exchange;
  if (exchange != Exchange::Auto) return exchange;
  return shoal::choose(costs_, shape_of(group), size).exchange;
}

Task<std::string> ExchangeChoice::choose_encodings(const Group& group, bool anew) {
  const std::uint64_t number = operation(operations::kChoices, replica_.step);
  room_.emplace(node_.endpoint, learner_.substance());
  EncodingCosts costs;
  costs.shape = shape_of(group);
  if (anew) {
    costs.links = co_await measure_links(group, *room_, number);
  } else {
    costs.links = co_await known_links(group, *room_, "links", number);
  }
  // The cost per element of a phantom's codecs does not depend on the number of elements.
  const Elements n = learner_.substance() == Substance::Real ? replica_.N : Elements(0);
  costs.codecs = co_await measure_codecs(group, gathering_, n, number + 1);
  const Cuts pieces = learner_.pieces();
  const std::vector<Encoding> chosen = shoal::choose_encodings(costs, pieces);
  const bool some = std::ranges::any_of(chosen, [](const Encoding& e) { return e != Encoding(); });
  watch_.chosen(replica_.step);
  // If a member has encoded before, it may keep a residual. Then all members continue to encode,
  // also newcomers without a residual.
  const std::uint64_t own = encoded_.is_chosen() ? 1 : 0;
  const std::vector<std::uint64_t> before = co_await gathering_.of_all(group, own, number + 2);
  if (some || std::ranges::count(before, 1U) > 0) encoded_.choose(chosen);
  co_return explain(costs, pieces);
}

void ExchangeChoice::took(Duration longest_step) {
  if (encoded_.is_open()) watch_.took(longest_step, replica_.step);
}

}  // namespace shoal
