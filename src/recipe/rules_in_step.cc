// Choices that exclude each other if workers compute one step together.
#include <algorithm>

#include "recipe/compatibility.h"
#include "recipe/encoding_rules.h"

namespace shoal {
namespace {

bool meets(const InStep& r) { return r.batch_norm.over == BatchNorm::Over::Workers; }
void meet_no_more(InStep& r, std::uint64_t) { r.batch_norm = BatchNorm{}; }

bool first(const InStep& r) { return r.order == SendOrder::Priority; }
void send_at_the_end(InStep& r, std::uint64_t) { r.order = SendOrder::Fifo; }

bool is_one_of(Exchange exchange, Exchange one, Exchange other) {
  return exchange == one || exchange == other;
}
void count_all(InStep& r, std::uint64_t) { r.stragglers = AllGradients(); }

constexpr ExclusionOf<InStep> kInStepRules[] = {
    {"`--encoded-by` or `--encode-after` without `--encode`", "nothing is encoded",
     "`--encode fp32`",
     [](const InStep& r, std::uint64_t) { return !encodes(r.encode) && r.encode != Encode(); },
     [](InStep& r, std::uint64_t) { r.encode = Encode(); }},
    {"`--encode powersgd`, `sfb`, `poseidon`, `dgc` or `auto` for some of the layers",
     "factors have an exchange of their own, the momentum of `dgc` covers the whole model, and "
     "`auto` chooses for each layer",
     "the same encoding for all layers",
     [](const InStep& r, std::uint64_t) {
       return !r.encode.layers.empty() && some_encoding(r, is_of_steps);
     },
     [](InStep& r, std::uint64_t) { r.encode.layers.clear(); }},
    {"`--encode` with `--update owners`, `root` or `apart`",
     "all workers decode the same bytes, and each updates the whole model",
     "`--update everyone`, or `owners` with `auto`; `--encode fp32` with `apart`, or with "
     "`--shards` or `--straggler-policy`, which need `owners`",
     [](const InStep& r, std::uint64_t) {
       const bool plain = chooses(r) && r.updater == Updater::Owners && !needs_owners(r);
       return encodes(r.encode) && r.updater != Updater::Everyone && !plain;
     },
     [](InStep& r, std::uint64_t) {
       if (r.updater == Updater::Apart || needs_owners(r)) {
         r.encode = Encode();
       } else {
         r.updater = Updater::Everyone;
       }
     }},
    {"`--encode sfb` or `poseidon` with `--accumulate` above 1",
     "factors of several passes cannot be summed", "`--accumulate 1`",
     [](const InStep& r, std::uint64_t) { return sends_factors(r.encode) && r.accumulate > 1; },
     [](InStep& r, std::uint64_t) { r.accumulate = 1; }},
    {"`--encoded-by sparse` with an `--encode` that sends no lists of positions",
     "the algorithm merges lists of positions", "`--encoded-by auto`",
     [](const InStep& r, std::uint64_t) {
       return r.encode.by == EncodedForm::Sparse &&
              some_encoding(r, [](const Encoding& e) { return !has_lists(e); });
     },
     [](InStep& r, std::uint64_t) { r.encode.by = EncodedForm::Auto; }},
    {"`--encoded-by kylix` with an `--encode` other than `fp16`, `bf16` or one that sends lists of "
     "positions",
     "the algorithm sends the nonzero elements, as a list", "`--encoded-by auto`",
     [](const InStep& r, std::uint64_t) {
       return r.encode.by == EncodedForm::Kylix &&
              some_encoding(r, [](const Encoding& e) { return !leaves_zeros(e); });
     },
     [](InStep& r, std::uint64_t) { r.encode.by = EncodedForm::Auto; }},
    {"`--straggler-policy first`, `fastest` or `redundant` with one worker",
     "there is no other gradient", "`--straggler-policy all`",
     [](const InStep& r, std::uint64_t workers) { return !waits_for_all(r) && workers < 2; },
     count_all},
    {"as many `--backups` as workers, or more", "no gradient would count",
     "the number of workers minus 1",
     [](const InStep& r, std::uint64_t workers) { return workers > 1 && backups(r) >= workers; },
     [](InStep& r, std::uint64_t workers) {
       r.stragglers = FirstGradients{static_cast<std::uint32_t>(workers - 1)};
     }},
    {"`--straggler-policy first`, `fastest` or `redundant` with `--order wfbp` or `priority`",
     "only complete gradients tell which of them count, and for how many samples", "`--order fifo`",
     [](const InStep& r, std::uint64_t) { return !waits_for_all(r) && overlaps(r); },
     send_at_the_end},
    {"`--straggler-policy fastest` with `--accumulate` above 1",
     "the policy already cuts a share into portions, after each of which it can end",
     "`--accumulate 1`",
     [](const InStep& r, std::uint64_t) {
       return waits_by<PartialGradients>(r) && r.accumulate > 1;
     },
     [](InStep& r, std::uint64_t) { r.accumulate = 1; }},
    {"`--straggler-policy fastest` or `redundant` with `--balance auto`",
     "these policies handle uneven speeds already", "`--balance even`",
     [](const InStep& r, std::uint64_t) {
       return (waits_by<PartialGradients>(r) || waits_by<RedundantGradients>(r)) &&
              r.balance == Balance::Auto;
     },
     [](InStep& r, std::uint64_t) { r.balance = Balance::Even; }},
    {"`--shards` (`--reproducible`) with `--straggler-policy first`, `fastest` or `redundant`",
     "the speed of workers would decide which samples count, or where they are summed",
     "`--straggler-policy all`",
     [](const InStep& r, std::uint64_t) { return r.shards > 0 && !waits_for_all(r); }, count_all},
    {"`--shards` with `--accumulate` above 1", "the shards already are the smaller passes",
     "`--accumulate 1`",
     [](const InStep& r, std::uint64_t) { return r.shards > 0 && r.accumulate > 1; },
     [](InStep& r, std::uint64_t) { r.accumulate = 1; }},
    {"`--shards` with `--keep-batch worker`", "the result would depend on the number of workers",
     "`--keep-batch global`",
     [](const InStep& r, std::uint64_t) { return r.shards > 0 && r.keep == KeepBatch::Worker; },
     [](InStep& r, std::uint64_t) { r.keep = KeepBatch::Global; }},
    {"`--shards` with `--balance auto`", "the share of a shard is fixed, on every worker",
     "`--balance even`",
     [](const InStep& r, std::uint64_t) { return r.shards > 0 && r.balance == Balance::Auto; },
     [](InStep& r, std::uint64_t) { r.balance = Balance::Even; }},
    {"fewer `--shards` than workers", "some workers would have no shard", "the number of workers",
     [](const InStep& r, std::uint64_t workers) { return r.shards > 0 && r.shards < workers; },
     [](InStep& r, std::uint64_t workers) { r.shards = static_cast<std::uint32_t>(workers); }},
    {"`--shards` with an `--update` other than `owners` or `servers`",
     "only owners and servers sum their parts in the fixed order", "`--update owners`",
     [](const InStep& r, std::uint64_t) { return r.shards > 0 && r.updater != Updater::Owners; },
     [](InStep& r, std::uint64_t) { r.updater = Updater::Owners; }},
    {"`--straggler-policy first`, `fastest` or `redundant` with an `--update` other than `owners`",
     "only the owner of a part can leave out gradients that do not count", "`--update owners`",
     [](const InStep& r, std::uint64_t) {
       return !waits_for_all(r) && r.updater != Updater::Owners;
     },
     [](InStep& r, std::uint64_t) { r.updater = Updater::Owners; }},
    {"`--update root` with an `--exchange` other than `tree` or `auto`",
     "other exchanges give the sum, or a part of it, to all workers", "`--exchange tree`",
     [](const InStep& r, std::uint64_t) {
       return r.updater == Updater::Root && !is_one_of(r.exchange, Exchange::Auto, Exchange::Tree);
     },
     [](InStep& r, std::uint64_t) { r.exchange = Exchange::Tree; }},
    {"`--update owners` with an `--exchange` other than `direct` or `auto`",
     "an owner reads its part directly from all others", "`--exchange direct`",
     [](const InStep& r, std::uint64_t) {
       return r.updater == Updater::Owners &&
              !is_one_of(r.exchange, Exchange::Auto, Exchange::Direct);
     },
     [](InStep& r, std::uint64_t) { r.exchange = Exchange::Direct; }},
    {"`--order priority` with an `--update` other than `everyone`",
     "the next pass begins with updated parameters, so each worker updates a chunk as soon as it "
     "is summed",
     "`--update everyone`; `--order wfbp` with `apart`, or with `--shards`, which need `owners`",
     [](const InStep& r, std::uint64_t) { return first(r) && r.updater != Updater::Everyone; },
     [](InStep& r, std::uint64_t) {
       if (r.updater == Updater::Apart || needs_owners(r)) {
         r.order = SendOrder::Wfbp;
       } else {
         r.updater = Updater::Everyone;
       }
     }},
    {"`--order priority` with `--encode`",
     "an encoding applies to a whole bucket, and would drop other elements if applied to chunks",
     "`--order wfbp`", [](const InStep& r, std::uint64_t) { return first(r) && encodes(r.encode); },
     [](InStep& r, std::uint64_t) { r.order = SendOrder::Wfbp; }},
    {"`--order priority` with an `--exchange` other than `direct` or `auto`",
     "with other exchanges the order of additions depends on the beginning of a chunk",
     "`--exchange direct`",
     [](const InStep& r, std::uint64_t) {
       return first(r) && !is_one_of(r.exchange, Exchange::Auto, Exchange::Direct);
     },
     [](InStep& r, std::uint64_t) { r.exchange = Exchange::Direct; }},
    {"`--batch-norm sync` with `--straggler-policy first`, `fastest` or `redundant`",
     "the statistics need the samples of all workers, so the others would wait for a worker whose "
     "gradient does not count",
     "`--batch-norm local`",
     [](const InStep& r, std::uint64_t) { return meets(r) && !waits_for_all(r); }, meet_no_more},
    {"`--batch-norm sync` with `--accumulate` above 1",
     "workers with fewer samples make fewer passes, and the others would wait for them forever",
     "`--batch-norm local`",
     [](const InStep& r, std::uint64_t) { return meets(r) && r.accumulate > 1; }, meet_no_more},
    {"`--batch-norm sync` with `--shards` (`--reproducible`)",
     "a shard has its own statistics, on every worker", "`--batch-norm local`",
     [](const InStep& r, std::uint64_t) { return meets(r) && r.shards > 0; }, meet_no_more},
    {"`--batch-norm sync` with `--update apart`", "each worker trains its own model",
     "`--batch-norm local`",
     [](const InStep& r, std::uint64_t) { return meets(r) && r.updater == Updater::Apart; },
     meet_no_more},
};

}  // namespace

std::span<const ExclusionOf<InStep>> rules_in_step() { return kInStepRules; }

}  // namespace shoal
