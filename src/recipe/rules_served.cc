// Choices that exclude each other in training with parameter servers.
#include <algorithm>

#include "ps/shard_map.h"
#include "recipe/compatibility.h"
#include "recipe/encoding_rules.h"

namespace shoal {
namespace {

constexpr std::uint64_t kCopies = kCopiesMax;

template <class Rule>
bool keeps(const Served& r) {
  return std::holds_alternative<Rule>(r.ps.consistency);
}
void be_asynchronous(Served& r, std::uint64_t) { r.ps.consistency = consistency::Async{}; }

bool groups_workers(const Served& r) { return are_formed(r.ps.groups); }
bool pushes_factors(const Served& r) { return r.ps.push == PushForm::Factors; }

constexpr ExclusionOf<Served> kServedRules[] = {
    {"more `--copies` than servers, or more than 4",
     "each server has at most one copy, and a chain has at most 4 servers",
     "the number of servers, at most 4",
     [](const Served& r, std::uint64_t workers) {
       return r.ps.copies > std::min(servers_of(r, workers), kCopies);
     },
     [](Served& r, std::uint64_t workers) {
       r.ps.copies = static_cast<std::uint32_t>(std::min(servers_of(r, workers), kCopies));
     }},
    {"`--weigh`, `--compensate`, `--lower-momentum`, `--push-every` or `--fetch` above 1 "
     "with `--consistency synchronous`, `bounded:0` or `backup:B`",
     "all workers push in every step, and no push that counts is late", "`--consistency async`",
     [](const Served& r, std::uint64_t) {
       const ParameterServerOptions& s = r.ps;
       return goes_by_steps(s.consistency) &&
              (s.weigh != Weigh::Even || compensates(s.compensation) || s.lower_momentum ||
               s.push_every > 1 || steps_of(r.ps.fetch) > 1);
     },
     be_asynchronous},
    {"`--fetch` or `--push-every` above 1 with `--consistency value:D`",
     "pushes wait until all workers have seen earlier changes", "`--consistency async`",
     [](const Served& r, std::uint64_t) {
       return (r.ps.push_every > 1 || steps_of(r.ps.fetch) > 1) && keeps<consistency::Value>(r);
     },
     be_asynchronous},
    {"`--push factors` with `--push-every` above 1", "factors of several steps cannot be summed",
     "`--push-every 1`",
     [](const Served& r, std::uint64_t) { return pushes_factors(r) && r.ps.push_every > 1; },
     [](Served& r, std::uint64_t) { r.ps.push_every = 1; }},
    {"`--push factors` with `--filter` or `--compress`",
     "factors belong to one whole gradient, and their elements do not correspond to parameters",
     "`--push gradients`",
     [](const Served& r, std::uint64_t) { return pushes_factors(r) && in_parts(r.ps); },
     [](Served& r, std::uint64_t) { r.ps.push = PushForm::Gradients; }},
    {"`--filter` or `--barrier` with `--consistency synchronous`, `bounded:0`, `backup:B`, "
     "`value:D` or `reject:S`",
     "with these an update needs whole gradients of all workers, or a push waits for readers or is "
     "dropped",
     "`--consistency async`",
     [](const Served& r, std::uint64_t) {
       return (holds_back(r.ps.filter) || r.ps.barrier) &&
              (goes_by_steps(r.ps.consistency) || keeps<consistency::Value>(r) ||
               keeps<consistency::Reject>(r));
     },
     be_asynchronous},
    {"`--consistency backup:B` with B not below the number of workers", "no gradient would count",
     "`--consistency synchronous` for one worker, otherwise B one less than there are workers",
     [](const Served& r, std::uint64_t workers) {
       const auto* const backup = std::get_if<consistency::Backup>(&r.ps.consistency);
       return backup != nullptr && backup->backups >= workers;
     },
     [](Served& r, std::uint64_t workers) {
       if (workers > 1) {
         r.ps.consistency = consistency::Backup(workers - 1);
       } else {
         r.ps.consistency = consistency::Synchronous{};
       }
     }},
    {"`--groups` with `--consistency backup:B`", "groups would be dropped, not workers",
     "`--groups off`",
     [](const Served& r, std::uint64_t) {
       return groups_workers(r) && keeps<consistency::Backup>(r);
     },
     [](Served& r, std::uint64_t) { r.ps.groups = Groups{}; }},
    {"`--groups N` with N above the number of workers", "no group would be complete",
     "the number of workers",
     [](const Served& r, std::uint64_t workers) {
       const auto* const sized = std::get_if<groups::Sized>(&r.ps.groups);
       return sized != nullptr && sized->size > workers;
     },
     [](Served& r, std::uint64_t workers) {
       r.ps.groups = groups::Sized{static_cast<std::uint32_t>(workers)};
     }},
    {"`--push factors` with `--groups`", "factors of several workers cannot be summed",
     "`--groups off`",
     [](const Served& r, std::uint64_t) { return pushes_factors(r) && groups_workers(r); },
     [](Served& r, std::uint64_t) { r.ps.groups = Groups{}; }},
    {"`--write-back` above 1 without `--groups`",
     "there is no leader between a worker and the servers", "`--write-back 1`",
     [](const Served& r, std::uint64_t) { return r.ps.write_back > 1 && !groups_workers(r); },
     [](Served& r, std::uint64_t) { r.ps.write_back = 1; }},
    {"`--write-back` above 1 with `--push-every` or `--fetch` other than 1",
     "a group pushes and reads when it writes back", "`--write-back 1`",
     [](const Served& r, std::uint64_t) {
       return r.ps.write_back > 1 && (r.ps.push_every != 1 || r.ps.fetch != Fetch());
     },
     [](Served& r, std::uint64_t) { r.ps.write_back = 1; }},
    {"`--fetch stale` or `eager` without `--consistency bounded:S`, S above 0",
     "the bound defines which parameters are too old", "`--consistency bounded:3`",
     [](const Served& r, std::uint64_t) {
       return reads_when_stale(r.ps.fetch) && staleness_bound(r.ps.consistency).value_or(0) == 0;
     },
     [](Served& r, std::uint64_t) { r.ps.consistency = consistency::Bounded(3); }},
    {"`--fetch stale` or `eager` with `--push-every` above 1",
     "the parameters from the servers would lack the steps that are not pushed yet",
     "`--push-every 1`",
     [](const Served& r, std::uint64_t) {
       return r.ps.push_every > 1 && reads_when_stale(r.ps.fetch);
     },
     [](Served& r, std::uint64_t) { r.ps.push_every = 1; }},
    {"`--update servers` with `--batch-norm sync`", "workers exchange nothing during a pass",
     "`--batch-norm local`",
     [](const Served& r, std::uint64_t) { return r.batch_norm.over == BatchNorm::Over::Workers; },
     [](Served& r, std::uint64_t) { r.batch_norm = BatchNorm{}; }},
    {"`--update servers` with `--encode-after` without `--encode`", "nothing is encoded",
     "`--encode-after 0`",
     [](const Served& r, std::uint64_t) { return !encodes(r.encode) && r.encode != Encode(); },
     [](Served& r, std::uint64_t) { r.encode = Encode(); }},
    {"`--update servers` with `--encode powersgd`, `sfb`, `poseidon`, `dgc` or `auto`",
     "these encodings require all workers to sum their gradients in every step",
     "`--encode onebit+ef`",
     [](const Served& r, std::uint64_t) { return some_encoding(r, is_of_steps); },
     [](Served& r, std::uint64_t) { encode_by_signs(r, is_of_steps); }},
    {"`--update servers` with `--encode` and `--push factors`, `--filter` or `--compress`",
     "a push can have only one of these forms", "`--encode fp32`",
     [](const Served& r, std::uint64_t) {
       return encodes(r.encode) && (pushes_factors(r) || in_parts(r.ps));
     },
     [](Served& r, std::uint64_t) { r.encode = Encode(); }},
    {"`--encode` with `+ef` and `--consistency reject:S` or `backup:B`",
     "a dropped push would lose the error of earlier pushes", "`--consistency async`",
     [](const Served& r, std::uint64_t) {
       return some_encoding(r, keeps_residual) && (drops_late(r.ps.consistency));
     },
     be_asynchronous},
    {"`--encode-pulls` with `+ef`, or with an encoding that is not for models, such as `topk`",
     "workers read whole models, and servers keep no residuals", "`--encode-pulls fp16`",
     [](const Served& r, std::uint64_t) { return !is_for_models(r.ps.pulls); },
     [](Served& r, std::uint64_t) { r.ps.pulls = parse_encoding("fp16"); }},
    {"fewer `--shards` than workers, with `--update servers`", "some workers would have no shard",
     "the number of workers",
     [](const Served& r, std::uint64_t workers) { return r.shards > 0 && r.shards < workers; },
     [](Served& r, std::uint64_t workers) { r.shards = static_cast<std::uint32_t>(workers); }},
    {"`--shards` with `--update servers` and a `--consistency` other than `synchronous` or "
     "`bounded:0`, or `--groups`, `--push factors`, `--compress`, `--encode`, `--encode-pulls` or "
     "`--warm-start`",
     "only synchronous updates sum all shards, and only whole gradients sum to the same bits",
     "`--shards 0`; with `--reproducible` omit these",
     [](const Served& r, std::uint64_t) {
       const ParameterServerOptions& s = r.ps;
       return r.shards > 0 &&
              (!moves_in_step(s.consistency) || groups_workers(r) || pushes_factors(r) ||
               in_parts(s) || encodes(r.encode) || s.pulls != Encoding() || s.warm_start > 0);
     },
     [](Served& r, std::uint64_t) { r.shards = 0; }},
};

}  // namespace

std::span<const ExclusionOf<Served>> rules_served() { return kServedRules; }

}  // namespace shoal
