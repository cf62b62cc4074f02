#include "recipe/compatibility.h"

#include <algorithm>

#include "ps/shard_map.h"
#include "recipe/encoding_rules.h"

namespace shoal {
namespace {

constexpr std::uint64_t kCopies = kCopiesMax;

bool meets(const Recipe& r) { return r.batch_norm.over == BatchNorm::Over::Workers; }
void meet_no_more(Recipe& r, std::uint64_t) { r.batch_norm = BatchNorm{}; }

bool is_one_of(Exchange exchange, std::initializer_list<Exchange> some) {
  for (const Exchange e : some)
    if (e == exchange) return true;
  return false;
}

void send_at_the_end(Recipe& r, std::uint64_t) {
  r.overlap = false;
  r.priority = false;
}

bool encodes_otherwise(const Recipe& r) { return r.encode != Encode(); }
void encode_no_more(Recipe& r, std::uint64_t) { r.encode = Encode(); }

bool serves(const Recipe& r) { return r.updater == Updater::Servers; }
bool each_has_one(const Recipe& r) { return r.updater == Updater::Decentral; }
std::uint64_t servers_of(const Recipe& r, std::uint64_t workers) {
  return r.ps.servers > 0 ? r.ps.servers : workers;
}

// Later rows may assume that earlier ones hold. No mending breaks a row above but those that the
// next round mends towards fewer choices, so that rounds come to an end (the test tries them all).
constexpr Exclusion kExclusions[] = {
    {"`--consistency`, `--servers`, `--copies`, `--push`, `--push-every`, `--fetch`, `--groups`, "
     "`--write-back`, `--warm-start`, `--compensate`, `--lower-momentum`, `--weigh`, `--filter`, "
     "`--compress`, `--barrier` or `--encode-pulls` without `--update servers`",
     "nobody else holds the parameters for others, and is late or early",
     "`--update servers`; without them with `--update decentral`",
     [](const Recipe& r, std::uint64_t) { return !serves(r) && r.ps != ParameterServerOptions(); },
     [](Recipe& r, std::uint64_t) {
       if (each_has_one(r)) {
         r.ps = ParameterServerOptions();
       } else {
         r.updater = Updater::Servers;
       }
     }},
    {"`--algorithm`, `--local-steps`, `--overlap-steps`, `--pace`, `--topology`, `--alpha`, "
     "`--center-rate`, "
     "`--block-momentum`, `--block-rate`, `--block-nesterov`, `--gossip`, `--adapt-alpha`, "
     "`--local-steps-down`, `--learners`, `--penalty`, `--extrapolate`, `--partitions`, "
     "`--combine`, "
     "`--bagging`, `--drop-probability` or `--mix-rate` without `--update decentral`",
     "there is one model, and nothing for it to meet",
     "`--update decentral`; without them with `--update servers`",
     [](const Recipe& r, std::uint64_t) { return !each_has_one(r) && r.peering != Peering(); },
     [](Recipe& r, std::uint64_t) {
       if (serves(r)) {
         r.peering = Peering();
       } else {
         r.updater = Updater::Decentral;
       }
     }},
    {"`--local-steps 0`", "a worker makes a step at least before its model meets others",
     "`--local-steps 1`", [](const Recipe& r, std::uint64_t) { return r.peering.tau == 0; },
     [](Recipe& r, std::uint64_t) { r.peering.tau = 1; }},
    {"as much `--overlap-steps` as `--local-steps`, or more",
     "a meeting ends before the next one begins", "one less than `--local-steps`",
     [](const Recipe& r, std::uint64_t) {
       return r.peering.overlap_steps > 0 && r.peering.overlap_steps >= r.peering.tau;
     },
     [](Recipe& r, std::uint64_t) { r.peering.overlap_steps = std::max(r.peering.tau, 1U) - 1; }},
    {"`--overlap-steps` with a `--algorithm` other than `average`, `block`, `elastic` or `wild`",
     "the others do not wait, or overlap a step by themselves", "`--overlap-steps 0`",
     [](const Recipe& r, std::uint64_t) {
       const Algorithm m = r.peering.algorithm;
       return r.peering.overlap_steps > 0 && m != Algorithm::Average && m != Algorithm::Block &&
              m != Algorithm::Elastic && m != Algorithm::Hogwild;
     },
     [](Recipe& r, std::uint64_t) { r.peering.overlap_steps = 0; }},
    {"`--pace async` with `--algorithm average`, `block`, `neighbours`, `learners` or `wild`",
     "all meet after the same number of steps", "`--pace sync`",
     [](const Recipe& r, std::uint64_t) {
       const Algorithm m = r.peering.algorithm;
       return !r.peering.in_step &&
              (m == Algorithm::Average || m == Algorithm::Block || m == Algorithm::Neighbours ||
               m == Algorithm::Learners || m == Algorithm::Hogwild);
     },
     [](Recipe& r, std::uint64_t) { r.peering.in_step = true; }},
    {"`--combine` or `--bagging` with a `--algorithm` other than `never`",
     "models that meet are of one mind, and their samples are dealt", "`--algorithm independent`",
     [](const Recipe& r, std::uint64_t) {
       return (r.peering.combine != Combine::None || r.peering.bagging) &&
              r.peering.algorithm != Algorithm::Independent;
     },
     [](Recipe& r, std::uint64_t) { r.peering.algorithm = Algorithm::Independent; }},
    {"`--algorithm neighbours` with `--topology halton`, `exponential` or `random`",
     "who gives to a neighbour takes from it, or the mean of all would drift", "`--topology ring`",
     [](const Recipe& r, std::uint64_t) {
       return r.peering.algorithm == Algorithm::Neighbours && !is_symmetric(r.peering.topology);
     },
     [](Recipe& r, std::uint64_t) { r.peering.topology = {}; }},
    {"`--algorithm parts` or `stream` with `--local-steps` above 1",
     "gradients leave after every step", "`--local-steps 1`",
     [](const Recipe& r, std::uint64_t) {
       const Algorithm m = r.peering.algorithm;
       return (m == Algorithm::Parts || m == Algorithm::Stream) && r.peering.tau > 1;
     },
     [](Recipe& r, std::uint64_t) { r.peering.tau = 1; }},
    {"`--algorithm tree` with a `--topology` other than `tree`", "it has a root",
     "`--topology tree`",
     [](const Recipe& r, std::uint64_t) {
       return r.peering.algorithm == Algorithm::Tree &&
              !std::holds_alternative<topology::Tree>(r.peering.topology);
     },
     [](Recipe& r, std::uint64_t) { r.peering.topology = topology::Tree{}; }},
    {"`--algorithm stream` with a `--topology` other than `complete` or `random`",
     "models that follow the gradients of some others alone drift away from the rest",
     "`--topology complete`",
     [](const Recipe& r, std::uint64_t) {
       const Topology& t = r.peering.topology;
       return r.peering.algorithm == Algorithm::Stream &&
              !std::holds_alternative<topology::Complete>(t) &&
              !std::holds_alternative<topology::Random>(t);
     },
     [](Recipe& r, std::uint64_t) { r.peering.topology = topology::Complete{}; }},
    {"`--update decentral` with `--exchange auto`", "its costs are known of gradients alone",
     "`--exchange direct`",
     [](const Recipe& r, std::uint64_t) { return each_has_one(r) && r.exchange == Exchange::Auto; },
     [](Recipe& r, std::uint64_t) { r.exchange = Exchange::Direct; }},
    {"`--copies 0`", "nobody would have the parameters", "`--copies 1`",
     [](const Recipe& r, std::uint64_t) { return r.ps.copies == 0; },
     [](Recipe& r, std::uint64_t) { r.ps.copies = 1; }},
    {"more `--copies` than servers, or than 4",
     "each server has one of them at most, and longer chains are not made",
     "as many as there are servers; 4 of more",
     [](const Recipe& r, std::uint64_t workers) {
       return r.ps.copies > std::min(servers_of(r, workers), kCopies);
     },
     [](Recipe& r, std::uint64_t workers) {
       r.ps.copies = static_cast<std::uint32_t>(std::min(servers_of(r, workers), kCopies));
     }},
    {"`--push-every 0`", "a worker would never push", "`--push-every 1`",
     [](const Recipe& r, std::uint64_t) { return r.ps.push_every == 0; },
     [](Recipe& r, std::uint64_t) { r.ps.push_every = 1; }},
    {"`--weigh`, `--compensate`, `--lower-momentum`, `--push-every` or `--fetch` above 1 "
     "with `--consistency synchronous`, `bounded:0` or `backup:B`",
     "all workers push every step there, and none that counts is ever late",
     "`--consistency async`",
     [](const Recipe& r, std::uint64_t) {
       const ParameterServerOptions& s = r.ps;
       return goes_by_steps(s.consistency) &&
              (s.weigh != Weigh::Even || compensates(s.compensation) || s.lower_momentum ||
               s.push_every > 1 || steps_of(s.fetch) > 1);
     },
     [](Recipe& r, std::uint64_t) { r.ps.consistency = consistency::Async{}; }},
    {"`--fetch` or `--push-every` above 1 with `--consistency value:D`",
     "others wait until a worker has seen what they changed", "`--consistency async`",
     [](const Recipe& r, std::uint64_t) {
       return limits_change(r.ps.consistency) && (r.ps.push_every > 1 || steps_of(r.ps.fetch) > 1);
     },
     [](Recipe& r, std::uint64_t) { r.ps.consistency = consistency::Async{}; }},
    {"`--push factors` with `--push-every` above 1", "factors of several steps do not add up",
     "`--push-every 1`",
     [](const Recipe& r, std::uint64_t) {
       return r.ps.push == PushForm::Factors && r.ps.push_every > 1;
     },
     [](Recipe& r, std::uint64_t) { r.ps.push_every = 1; }},
    {"`--push factors` with `--filter` or `--compress`",
     "factors are of one whole gradient, and none of their numbers stands for a parameter",
     "`--push gradients`",
     [](const Recipe& r, std::uint64_t) {
       return r.ps.push == PushForm::Factors && in_parts(r.ps);
     },
     [](Recipe& r, std::uint64_t) { r.ps.push = PushForm::Gradients; }},
    {"`--filter` or `--barrier` with `--consistency synchronous`, `bounded:0`, `backup:B`, "
     "`value:D` or `reject:S`",
     "an update is one whole gradient of everyone there, or a push waits for readers, or is lost",
     "`--consistency async`",
     [](const Recipe& r, std::uint64_t) {
       const Consistency& c = r.ps.consistency;
       return (holds_back(r.ps.filter) || r.ps.barrier) &&
              (goes_by_steps(c) || limits_change(c) || drops_late(c));
     },
     [](Recipe& r, std::uint64_t) { r.ps.consistency = consistency::Async{}; }},
    {"as many backups in `--consistency backup:B` as workers, or more", "no gradient would count",
     "`--consistency synchronous` for one worker, else one less than there are",
     [](const Recipe& r, std::uint64_t workers) {
       const auto* const backup = std::get_if<consistency::Backup>(&r.ps.consistency);
       return backup != nullptr && backup->backups >= workers;
     },
     [](Recipe& r, std::uint64_t workers) {
       if (workers > 1) {
         r.ps.consistency = consistency::Backup(workers - 1);
       } else {
         r.ps.consistency = consistency::Synchronous{};
       }
     }},
    {"`--groups` with `--consistency backup:B`", "groups, and not workers, would be left out",
     "`--groups none`",
     [](const Recipe& r, std::uint64_t) {
       return std::holds_alternative<consistency::Backup>(r.ps.consistency) &&
              are_formed(r.ps.groups);
     },
     [](Recipe& r, std::uint64_t) { r.ps.groups = groups::Off{}; }},
    {"`--groups` of more workers than there are", "no group would be complete",
     "as many as there are workers",
     [](const Recipe& r, std::uint64_t workers) {
       const auto* const sized = std::get_if<groups::Sized>(&r.ps.groups);
       return sized != nullptr && sized->size > workers;
     },
     [](Recipe& r, std::uint64_t workers) {
       r.ps.groups = groups::Sized{static_cast<std::uint32_t>(workers)};
     }},
    {"`--push factors` with `--groups`", "the members' factors do not add up", "`--groups off`",
     [](const Recipe& r, std::uint64_t) {
       return r.ps.push == PushForm::Factors && are_formed(r.ps.groups);
     },
     [](Recipe& r, std::uint64_t) { r.ps.groups = groups::Off{}; }},
    {"`--write-back 0`", "a group would never push", "`--write-back 1`",
     [](const Recipe& r, std::uint64_t) { return r.ps.write_back == 0; },
     [](Recipe& r, std::uint64_t) { r.ps.write_back = 1; }},
    {"`--write-back` above 1 without `--groups`", "nobody is between a worker and the servers",
     "`--write-back 1`",
     [](const Recipe& r, std::uint64_t) { return r.ps.write_back > 1 && !are_formed(r.ps.groups); },
     [](Recipe& r, std::uint64_t) { r.ps.write_back = 1; }},
    {"`--write-back` above 1 with `--push-every` or `--fetch` other than 1",
     "a group pushes and reads when it writes back", "`--write-back 1`",
     [](const Recipe& r, std::uint64_t) {
       return r.ps.write_back > 1 && (r.ps.push_every != 1 || r.ps.fetch != Fetch());
     },
     [](Recipe& r, std::uint64_t) { r.ps.write_back = 1; }},
    {"`--fetch stale` or `eager` without `--consistency bounded:S`, S above 0",
     "the bound says what is too old", "`--consistency bounded:3`",
     [](const Recipe& r, std::uint64_t) {
       return reads_when_stale(r.ps.fetch) && staleness_bound(r.ps.consistency).value_or(0) == 0;
     },
     [](Recipe& r, std::uint64_t) { r.ps.consistency = consistency::Bounded(3); }},
    {"`--fetch stale` or `eager` with `--push-every` above 1",
     "what the servers send would be without the steps that were not pushed", "`--push-every 1`",
     [](const Recipe& r, std::uint64_t) {
       return reads_when_stale(r.ps.fetch) && r.ps.push_every > 1;
     },
     [](Recipe& r, std::uint64_t) { r.ps.push_every = 1; }},
    {"`--update servers` or `each` with `--order wfbp` or `priority`",
     "a push is one message for each server, and models meet as a whole; of pushes the largest "
     "changes go first with `--order magnitude`, at the rate that `--filter magnitude:RATE` says",
     "`--order fifo`",
     [](const Recipe& r, std::uint64_t) { return by_worker(r) && (r.overlap || r.priority); },
     send_at_the_end},
    {"`--update servers` with an `--exchange` other than `direct` or `auto`",
     "a server reads its part from each worker", "`--exchange direct`",
     [](const Recipe& r, std::uint64_t) {
       return serves(r) && !is_one_of(r.exchange, {Exchange::Auto, Exchange::Direct});
     },
     [](Recipe& r, std::uint64_t) { r.exchange = Exchange::Direct; }},
    {"`--update servers` or `each` with `--epoch-fraction` below 1",
     "its samples are dealt until all have ended", "`--epoch-fraction 1`",
     [](const Recipe& r, std::uint64_t) { return by_worker(r) && r.epoch_fraction != 1; },
     [](Recipe& r, std::uint64_t) { r.epoch_fraction = 1; }},
    {"`--update servers` or `each` with `--accumulate` above 1",
     "a worker pushes, or moves, after every pass", "`--accumulate 1`",
     [](const Recipe& r, std::uint64_t) { return by_worker(r) && r.accumulate != 1; },
     [](Recipe& r, std::uint64_t) { r.accumulate = 1; }},
    {"`--update servers` or `each` with `--balance auto`",
     "where workers do not wait for each other the fast ones have more shares anyway",
     "`--balance even`",
     [](const Recipe& r, std::uint64_t) { return by_worker(r) && r.balance == Balance::Auto; },
     [](Recipe& r, std::uint64_t) { r.balance = Balance::Even; }},
    {"`--update servers` or `each` with `--keep-batch global`, but for `--shards` with `servers`",
     "a share is a worker's batch, however many they are", "`--keep-batch worker`",
     [](const Recipe& r, std::uint64_t) {
       return by_worker(r) && r.keep == KeepBatch::Global && !(serves(r) && r.shards > 0);
     },
     [](Recipe& r, std::uint64_t) { r.keep = KeepBatch::Worker; }},
    {"`--update servers` or `each` with `--batch-norm sync`",
     "the workers do not meet while they compute", "`--batch-norm local`",
     [](const Recipe& r, std::uint64_t) { return by_worker(r) && meets(r); }, meet_no_more},
    {"`--encoded-by` or `--encode-after` without `--encode`", "nothing is encoded",
     "`--encode fp32`",
     [](const Recipe& r, std::uint64_t) { return !encodes(r) && encodes_otherwise(r); },
     encode_no_more},
    {"`--encode-after` below 0", "it is a number of epochs", "`--encode-after 0`",
     [](const Recipe& r, std::uint64_t) { return !(r.encode.after >= 0); },
     [](Recipe& r, std::uint64_t) { r.encode.after = 0; }},
    {"an `--encode` of whole steps, as `powersgd`, of some layers, or of all but some",
     "factors are exchanged in a way of their own, momentum is that of the whole model, and `auto` "
     "chooses for each layer",
     "the same for all layers",
     [](const Recipe& r, std::uint64_t) {
       return !r.encode.layers.empty() && some_encoding(r, is_of_steps);
     },
     [](Recipe& r, std::uint64_t) { r.encode.layers.clear(); }},
    {"an `--encode` of whole steps, as `powersgd`, with `--update servers` or `decentral`",
     "they are ways in which all sum their gradients, step by step", "`--encode onebit+ef`",
     [](const Recipe& r, std::uint64_t) { return by_worker(r) && some_encoding(r, is_of_steps); },
     [](Recipe& r, std::uint64_t) { encode_by_signs(r, is_of_steps); }},
    {"`--encoded-by` with `--update servers`, or with `each` and a `--algorithm` other than "
     "`average` "
     "or "
     "`block`",
     "nothing is summed on its way", "`--encoded-by auto`",
     [](const Recipe& r, std::uint64_t) {
       return by_worker(r) && !(each_has_one(r) && sums_models(r)) &&
              r.encode.by != EncodedForm::Auto;
     },
     [](Recipe& r, std::uint64_t) { r.encode.by = EncodedForm::Auto; }},
    {"`--encode-after` with `--update decentral`",
     "what is sent is a difference, and the first of a view goes as it is anyway",
     "`--encode-after 0`",
     [](const Recipe& r, std::uint64_t) { return each_has_one(r) && r.encode.after > 0; },
     [](Recipe& r, std::uint64_t) { r.encode.after = 0; }},
    {"`--encode` with `--push factors`, `--filter` or `--compress`", "a push has one form",
     "`--encode fp32`",
     [](const Recipe& r, std::uint64_t) {
       return serves(r) && encodes(r) && (r.ps.push == PushForm::Factors || in_parts(r.ps));
     },
     encode_no_more},
    {"`--encode` with `+ef` and `--consistency reject:S` or `backup:B`",
     "a push that is dropped would take with it what had waited since earlier ones",
     "`--consistency async`",
     [](const Recipe& r, std::uint64_t) {
       return serves(r) && some_encoding(r, keeps_residual) && drops_late(r.ps.consistency);
     },
     [](Recipe& r, std::uint64_t) { r.ps.consistency = consistency::Async{}; }},
    {"`--encode-pulls` with an encoding that is not for models, as `topk`, or with `+ef`",
     "what is read is a model, and nobody keeps what was left out of it", "`--encode-pulls fp16`",
     [](const Recipe& r, std::uint64_t) { return !is_for_models(r.ps.pulls); },
     [](Recipe& r, std::uint64_t) { r.ps.pulls = {.method = Fp16{}}; }},
    {"`--encode` with a `--algorithm` other than `average`, `block`, `neighbours` or `stream`",
     "the two that meet have no model in common that differences could be to",
     "`--encode fp32`; or `--algorithm average`",
     [](const Recipe& r, std::uint64_t) {
       const Algorithm m = r.peering.algorithm;
       return each_has_one(r) && encodes(r) && !sums_models(r) && m != Algorithm::Neighbours &&
              m != Algorithm::Stream;
     },
     encode_no_more},
    {"`--algorithm neighbours` with an `--encode` that draws random numbers, as `qsgd`",
     "what it adds by chance may be more than what models differ by, and would grow from step to "
     "step",
     "`--encode onebit`",
     [](const Recipe& r, std::uint64_t) { return mixes_encoded(r) && some_encoding(r, draws); },
     [](Recipe& r, std::uint64_t) { encode_by_signs(r, draws); }},
    {"`--algorithm neighbours` with `--encode` and `--topology hypercube`",
     "its partners change, and a difference is to what a neighbour has got before",
     "`--topology ring`",
     [](const Recipe& r, std::uint64_t) {
       return mixes_encoded(r) && std::holds_alternative<topology::Hypercube>(r.peering.topology);
     },
     [](Recipe& r, std::uint64_t) { r.peering.topology = {}; }},
    {"`--mix-rate` without `--algorithm neighbours` and `--encode`",
     "models that are sent whole move as far as they should", "`--mix-rate auto`",
     [](const Recipe& r, std::uint64_t) { return !mixes_encoded(r) && r.peering.mix_rate >= 0; },
     [](Recipe& r, std::uint64_t) { r.peering.mix_rate = kAuto; }},
    {"`--encode` with `--update owners`, `root` or `apart`",
     "all decode the same bytes, and each updates all of its copy",
     "`--update everyone`, or `owners` with `auto`; `--encode fp32` with `apart`, or with "
     "`--shards` or `--straggler-policy`, which need `owners`",
     [](const Recipe& r, std::uint64_t) {
       const bool plain = chooses(r) && r.updater == Updater::Owners && !needs_owners(r);
       return encodes(r) && r.updater != Updater::Everyone && !by_worker(r) && !plain;
     },
     [](Recipe& r, std::uint64_t) {
       if (r.updater == Updater::Apart || needs_owners(r)) {
         r.encode = Encode();
       } else {
         r.updater = Updater::Everyone;
       }
     }},
    {"`--encode sfb` or `poseidon` with `--accumulate` above 1",
     "factors of several passes do not add up", "`--accumulate 1`",
     [](const Recipe& r, std::uint64_t) { return sends_factors(r.encode) && r.accumulate > 1; },
     [](Recipe& r, std::uint64_t) { r.accumulate = 1; }},
    {"`--encoded-by sparse` with an `--encode` that has no lists of places", "it merges such lists",
     "`--encoded-by auto`",
     [](const Recipe& r, std::uint64_t) {
       return r.encode.by == EncodedForm::Sparse &&
              some_encoding(r, [](const Encoding& e) { return !has_lists(e); });
     },
     [](Recipe& r, std::uint64_t) { r.encode.by = EncodedForm::Auto; }},
    {"`--encoded-by kylix` with an `--encode` other than `fp16`, `bf16` or one that has lists of "
     "places",
     "it sends what is not zero, as a list", "`--encoded-by auto`",
     [](const Recipe& r, std::uint64_t) {
       return r.encode.by == EncodedForm::Kylix &&
              some_encoding(r, [](const Encoding& e) { return !leaves_zeros(e); });
     },
     [](Recipe& r, std::uint64_t) { r.encode.by = EncodedForm::Auto; }},
    {"`--epoch-fraction` of 0, below, or above 1", "it is a part of the epoch's samples",
     "`--epoch-fraction 1`",
     [](const Recipe& r, std::uint64_t) {
       return !(r.epoch_fraction > 0 && r.epoch_fraction <= 1);
     },
     [](Recipe& r, std::uint64_t) { r.epoch_fraction = 1; }},
    {"`--accumulate 0`", "a step has one pass over samples at least", "`--accumulate 1`",
     [](const Recipe& r, std::uint64_t) { return r.accumulate == 0; },
     [](Recipe& r, std::uint64_t) { r.accumulate = 1; }},
    {"`--straggler-policy first`, `fastest` or `redundant` with one worker",
     "there is nobody else whose gradient could count", "`--straggler-policy all`",
     [](const Recipe& r, std::uint64_t workers) {
       return r.stragglers != StragglerPolicy::All && workers < 2;
     },
     [](Recipe& r, std::uint64_t) {
       r.stragglers = StragglerPolicy::All;
       r.backups = 0;
     }},
    {"`--straggler-policy first` with `--backups 0`", "it would wait for all", "`--backups 1`",
     [](const Recipe& r, std::uint64_t) {
       return r.stragglers == StragglerPolicy::First && r.backups == 0;
     },
     [](Recipe& r, std::uint64_t) { r.backups = 1; }},
    {"`--backups` with a `--straggler-policy` other than `first`",
     "only that one leaves somebody out",
     "`--straggler-policy first`; `--backups 0` where another policy was asked for",
     [](const Recipe& r, std::uint64_t) {
       return r.stragglers != StragglerPolicy::First && r.backups > 0;
     },
     [](Recipe& r, std::uint64_t) {
       if (r.stragglers == StragglerPolicy::All) {
         r.stragglers = StragglerPolicy::First;
       } else {
         r.backups = 0;
       }
     }},
    {"as many `--backups` as workers, or more", "no gradient would count",
     "one less than there are workers",
     [](const Recipe& r, std::uint64_t workers) {
       return r.stragglers == StragglerPolicy::First && workers > 1 && r.backups >= workers;
     },
     [](Recipe& r, std::uint64_t workers) { r.backups = static_cast<std::uint32_t>(workers - 1); }},
    {"`--straggler-policy first`, `fastest` or `redundant` with `--order wfbp` or `priority`",
     "whose gradient counts, and for how many samples, is known only when all of it is there",
     "`--order fifo`",
     [](const Recipe& r,
        std::
            uint64_t) { return r.stragglers != StragglerPolicy::All && (r.overlap || r.priority); },
     send_at_the_end},
    {"`--straggler-policy fastest` with `--accumulate` above 1",
     "a share is cut into portions already, to end it at any of them", "`--accumulate 1`",
     [](const Recipe& r, std::uint64_t) {
       return r.stragglers == StragglerPolicy::Fastest && r.accumulate > 1;
     },
     [](Recipe& r, std::uint64_t) { r.accumulate = 1; }},
    {"`--straggler-policy fastest` or `redundant` with `--balance auto`",
     "they deal with uneven speeds in a way of their own", "`--balance even`",
     [](const Recipe& r, std::uint64_t) {
       return (r.stragglers == StragglerPolicy::Fastest ||
               r.stragglers == StragglerPolicy::Redundant) &&
              r.balance == Balance::Auto;
     },
     [](Recipe& r, std::uint64_t) { r.balance = Balance::Even; }},
    {"`--shards` (`--reproducible`) with `--straggler-policy first`, `fastest` or `redundant`",
     "which samples count, or where they are summed, would depend on who was fast",
     "`--straggler-policy all`",
     [](const Recipe& r, std::uint64_t) {
       return r.shards > 0 && r.stragglers != StragglerPolicy::All;
     },
     [](Recipe& r, std::uint64_t) {
       r.stragglers = StragglerPolicy::All;
       r.backups = 0;
     }},
    {"`--shards` with `--accumulate` above 1", "the shards are the portions", "`--accumulate 1`",
     [](const Recipe& r, std::uint64_t) { return r.shards > 0 && r.accumulate > 1; },
     [](Recipe& r, std::uint64_t) { r.accumulate = 1; }},
    {"`--shards` with `--keep-batch worker`", "the result would depend on the number of workers",
     "`--keep-batch global`",
     [](const Recipe& r, std::uint64_t) { return r.shards > 0 && r.keep == KeepBatch::Worker; },
     [](Recipe& r, std::uint64_t) { r.keep = KeepBatch::Global; }},
    {"`--shards` with `--balance auto`", "a shard has its share of the batch, whoever computes it",
     "`--balance even`",
     [](const Recipe& r, std::uint64_t) { return r.shards > 0 && r.balance == Balance::Auto; },
     [](Recipe& r, std::uint64_t) { r.balance = Balance::Even; }},
    {"fewer `--shards` than workers", "the others would have nothing to do",
     "as many as there are workers",
     [](const Recipe& r, std::uint64_t workers) { return r.shards > 0 && r.shards < workers; },
     [](Recipe& r, std::uint64_t workers) { r.shards = static_cast<std::uint32_t>(workers); }},
    {"`--shards` with `--update servers` and a `--consistency` other than `synchronous` or "
     "`bounded:0`, or `--groups`, `--push factors`, `--compress`, `--encode`, `--encode-pulls` or "
     "`--warm-start`",
     "only in step is an update the sum of all shards, and only whole gradients of each add up to "
     "the same bits",
     "`--shards 0`; with `--reproducible` leave these away",
     [](const Recipe& r, std::uint64_t) {
       const ParameterServerOptions& s = r.ps;
       return r.shards > 0 && serves(r) &&
              (!moves_in_step(s.consistency) || are_formed(s.groups) ||
               s.push == PushForm::Factors || in_parts(s) || encodes(r) || s.pulls != Encoding() ||
               s.warm_start > 0);
     },
     [](Recipe& r, std::uint64_t) { r.shards = 0; }},
    {"`--shards` with an `--update` other than `owners` or `servers`",
     "the fixed order is that of owners, or servers, a part each",
     "`--update owners`; `--shards 0` with `each`",
     [](const Recipe& r, std::uint64_t) {
       return r.shards > 0 && r.updater != Updater::Owners && !serves(r);
     },
     [](Recipe& r, std::uint64_t) {
       if (by_worker(r)) {
         r.shards = 0;
       } else {
         r.updater = Updater::Owners;
       }
     }},
    {"`--straggler-policy first`, `fastest` or `redundant` with an `--update` other than `owners`",
     "the owner of a part adds up what counts, and leaves the rest out; of servers `--consistency` "
     "says what counts",
     "`--update owners`; `--straggler-policy all` with `servers` or `each`",
     [](const Recipe& r, std::uint64_t) {
       return r.stragglers != StragglerPolicy::All && r.updater != Updater::Owners;
     },
     [](Recipe& r, std::uint64_t) {
       if (by_worker(r)) {
         r.stragglers = StragglerPolicy::All;
         r.backups = 0;
       } else {
         r.updater = Updater::Owners;
       }
     }},
    {"`--update root` with an `--exchange` other than `tree` or `auto`",
     "the others leave the sum with everyone, or a part with each", "`--exchange tree`",
     [](const Recipe& r, std::uint64_t) {
       return r.updater == Updater::Root &&
              !is_one_of(r.exchange, {Exchange::Auto, Exchange::Tree});
     },
     [](Recipe& r, std::uint64_t) { r.exchange = Exchange::Tree; }},
    {"`--update owners` with an `--exchange` other than `direct` or `auto`",
     "an owner reads its part from all others at once", "`--exchange direct`",
     [](const Recipe& r, std::uint64_t) {
       return r.updater == Updater::Owners &&
              !is_one_of(r.exchange, {Exchange::Auto, Exchange::Direct});
     },
     [](Recipe& r, std::uint64_t) { r.exchange = Exchange::Direct; }},
    {"`--order priority` with an `--update` other than `everyone`",
     "the next pass begins with what is there of the updated parameters, so each updates what it "
     "gets as soon as it is summed",
     "`--update everyone`; `--order wfbp` with `apart`, or with `--shards`, which need `owners`",
     [](const Recipe& r, std::uint64_t) { return r.priority && r.updater != Updater::Everyone; },
     [](Recipe& r, std::uint64_t) {
       if (r.updater == Updater::Apart || needs_owners(r)) {
         r.priority = false;
       } else {
         r.updater = Updater::Everyone;
       }
     }},
    {"`--order priority` with `--encode`",
     "an encoding is of a bucket as a whole, and would leave out something else of each chunk",
     "`--order wfbp`", [](const Recipe& r, std::uint64_t) { return r.priority && encodes(r); },
     [](Recipe& r, std::uint64_t) { r.priority = false; }},
    {"`--order priority` with an `--exchange` other than `direct` or `auto`",
     "what the others add up in which order depends on where a chunk begins", "`--exchange direct`",
     [](const Recipe& r, std::uint64_t) {
       return r.priority && !is_one_of(r.exchange, {Exchange::Auto, Exchange::Direct});
     },
     [](Recipe& r, std::uint64_t) { r.exchange = Exchange::Direct; }},
    {"`--batch-norm sync` with `--straggler-policy first`, `fastest` or `redundant`",
     "whoever is left out is in the statistics of all others, who would wait for it",
     "`--batch-norm local`",
     [](const Recipe& r,
        std::uint64_t) { return meets(r) && r.stragglers != StragglerPolicy::All; },
     meet_no_more},
    {"`--batch-norm sync` with `--accumulate` above 1",
     "workers with fewer samples make fewer passes, and the others would wait for them",
     "`--batch-norm local`",
     [](const Recipe& r, std::uint64_t) { return meets(r) && r.accumulate > 1; }, meet_no_more},
    {"`--batch-norm sync` with `--shards` (`--reproducible`)",
     "a shard has statistics of its own, whoever computes it", "`--batch-norm local`",
     [](const Recipe& r, std::uint64_t) { return meets(r) && r.shards > 0; }, meet_no_more},
    {"`--batch-norm sync` with `--update apart`", "the workers train models of their own",
     "`--batch-norm local`",
     [](const Recipe& r, std::uint64_t) { return meets(r) && r.updater == Updater::Apart; },
     meet_no_more},
};

}  // namespace

std::span<const Exclusion> exclusions() { return kExclusions; }

}  // namespace shoal
