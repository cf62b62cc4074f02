// What excludes what among workers that have each a model of their own.
#include <algorithm>

#include "recipe/compatibility.h"
#include "recipe/encoding_rules.h"

namespace shoal {
namespace {

// The topology of an algorithm that needs a certain one.
const Topology* topology_of(const Decentral& r) {
  if (const auto* const mixing = std::get_if<NeighboursSettings>(&r.algorithm))
    return &mixing->topology;
  return nullptr;
}
void use_ring(Decentral& r, std::uint64_t) {
  std::get<NeighboursSettings>(r.algorithm).topology = {};
}
bool mixes_encoded(const Decentral& r) { return encodes(r.encode) && topology_of(r) != nullptr; }

constexpr ExclusionOf<Decentral> kDecentralRules[] = {
    {"as many `--overlap-steps` as `--local-steps`, or more",
     "an exchange ends before the next one begins", "one less than `--local-steps`",
     [](const Decentral& r, std::uint64_t) {
       return overlap_steps(r.algorithm) > 0 &&
              overlap_steps(r.algorithm) >= local_steps(r.algorithm);
     },
     [](Decentral& r, std::uint64_t) {
       std::visit(
           [](auto& settings) {
             if constexpr (requires { settings.overlap_steps; })
               settings.overlap_steps = std::max(settings.local_steps, 1U) - 1;
           },
           r.algorithm);
     }},
    {"`--algorithm neighbours` with `--topology halton`, `exponential` or `random`",
     "a worker that gives to a neighbour takes from it, or the mean of all would drift",
     "`--topology ring`",
     [](const Decentral& r, std::uint64_t) {
       const Topology* const topology = topology_of(r);
       return topology != nullptr && !is_symmetric(*topology);
     },
     use_ring},
    {"`--algorithm stream` with a `--topology` other than `complete` or `random`",
     "models that follow the gradients of some others alone drift away from the rest",
     "`--topology complete`",
     [](const Decentral& r, std::uint64_t) {
       const auto* const stream = std::get_if<StreamSettings>(&r.algorithm);
       return stream != nullptr && !std::holds_alternative<topology::Complete>(stream->topology) &&
              !std::holds_alternative<topology::Random>(stream->topology);
     },
     [](Decentral& r, std::uint64_t) {
       std::get<StreamSettings>(r.algorithm).topology = topology::Complete{};
     }},
    {"`--update decentral` with `--exchange auto`", "its costs are known for gradients alone",
     "`--exchange direct`",
     [](const Decentral& r, std::uint64_t) { return r.exchange == Exchange::Auto; },
     [](Decentral& r, std::uint64_t) { r.exchange = Exchange::Direct; }},
    {"`--update decentral` with `--batch-norm sync`",
     "the workers do not exchange anything while they compute", "`--batch-norm local`",
     [](const Decentral& r, std::uint64_t) {
       return r.batch_norm.over == BatchNorm::Over::Workers;
     },
     [](Decentral& r, std::uint64_t) { r.batch_norm = BatchNorm{}; }},
    {"`--update decentral` with `--encode powersgd`, `sfb`, `poseidon`, `dgc` or `auto`",
     "with these all workers sum their gradients together, step by step", "`--encode onebit+ef`",
     [](const Decentral& r, std::uint64_t) { return some_encoding(r, is_of_steps); },
     [](Decentral& r, std::uint64_t) { encode_by_signs(r, is_of_steps); }},
    {"`--update decentral` with `--encoded-by`, but for `--encode` with `--algorithm average` or "
     "`block`",
     "nothing encoded is summed", "`--encoded-by auto`",
     [](const Decentral& r, std::uint64_t) {
       return !(sums_models(r.algorithm) && encodes(r.encode)) && r.encode.by != EncodedForm::Auto;
     },
     [](Decentral& r, std::uint64_t) { r.encode.by = EncodedForm::Auto; }},
    {"`--encode` with an `--algorithm` other than `average`, `block`, `neighbours` or `stream`",
     "the two that exchange have no common model that differences could refer to",
     "`--encode fp32`; or `--algorithm average`",
     [](const Decentral& r, std::uint64_t) {
       return encodes(r.encode) && !takes_encodings(r.algorithm);
     },
     [](Decentral& r, std::uint64_t) { r.encode = Encode(); }},
    {"`--update decentral` with `--encoded-by sparse` or `kylix` and an `--encode` that sends no "
     "lists of positions, but for `kylix` with `fp16` or `bf16`",
     "they send and merge such lists", "`--encoded-by auto`",
     [](const Decentral& r, std::uint64_t) {
       return (r.encode.by == EncodedForm::Sparse &&
               some_encoding(r, [](const Encoding& e) { return !has_lists(e); })) ||
              (r.encode.by == EncodedForm::Kylix &&
               some_encoding(r, [](const Encoding& e) { return !leaves_zeros(e); }));
     },
     [](Decentral& r, std::uint64_t) { r.encode.by = EncodedForm::Auto; }},
    {"`--algorithm neighbours` with an `--encode` that draws (`qsgd`, `terngrad`, `dorefa`, "
     "`fixed16`, `randomk`)",
     "its noise may exceed the differences of the models, and would grow from step to step",
     "`--encode onebit`",
     [](const Decentral& r, std::uint64_t) { return mixes_encoded(r) && some_encoding(r, draws); },
     [](Decentral& r, std::uint64_t) { encode_by_signs(r, draws); }},
    {"`--algorithm neighbours` with `--encode` and `--topology hypercube`",
     "its partners change, and a difference refers to what the same neighbour got before",
     "`--topology ring`",
     [](const Decentral& r, std::uint64_t) {
       return mixes_encoded(r) && std::holds_alternative<topology::Hypercube>(*topology_of(r));
     },
     use_ring},
    {"`--mix-rate` without `--encode`", "models that are sent whole move as far as they should",
     "`--mix-rate auto`",
     [](const Decentral& r, std::uint64_t) {
       const auto* const mixing = std::get_if<NeighboursSettings>(&r.algorithm);
       return mixing != nullptr && !encodes(r.encode) && mixing->mix_rate >= 0;
     },
     [](Decentral& r, std::uint64_t) {
       std::get<NeighboursSettings>(r.algorithm).mix_rate = kAuto;
     }},
};

}  // namespace

std::span<const ExclusionOf<Decentral>> rules_decentral() { return kDecentralRules; }

}  // namespace shoal
