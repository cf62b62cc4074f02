// Choices that exclude each other if each worker has its own model.
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
     "an exchange must end before the next one begins", "`--local-steps` minus 1",
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
     "mixing must be symmetric, otherwise the mean of all models drifts", "`--topology ring`",
     [](const Decentral& r, std::uint64_t) {
       const Topology* const topology = topology_of(r);
       return topology != nullptr && !is_symmetric(*topology);
     },
     use_ring},
    {"`--algorithm stream` with a `--topology` other than `complete` or `random`",
     "models that get the gradients of a fixed subset of workers drift away from the others",
     "`--topology complete`",
     [](const Decentral& r, std::uint64_t) {
       const auto* const stream = std::get_if<StreamSettings>(&r.algorithm);
       return stream != nullptr && !std::holds_alternative<topology::Complete>(stream->topology) &&
              !std::holds_alternative<topology::Random>(stream->topology);
     },
     [](Decentral& r, std::uint64_t) {
       std::get<StreamSettings>(r.algorithm).topology = topology::Complete{};
     }},
    {"`--update decentral` with `--exchange auto`",
     "the costs of exchanges are known only for gradients", "`--exchange direct`",
     [](const Decentral& r, std::uint64_t) { return r.exchange == Exchange::Auto; },
     [](Decentral& r, std::uint64_t) { r.exchange = Exchange::Direct; }},
    {"`--update decentral` with `--batch-norm sync`", "workers exchange nothing during a pass",
     "`--batch-norm local`",
     [](const Decentral& r, std::uint64_t) {
       return r.batch_norm.over == BatchNorm::Over::Workers;
     },
     [](Decentral& r, std::uint64_t) { r.batch_norm = BatchNorm{}; }},
    {"`--update decentral` with `--encode powersgd`, `sfb`, `poseidon`, `dgc` or `auto`",
     "these encodings require all workers to sum their gradients in every step",
     "`--encode onebit+ef`",
     [](const Decentral& r, std::uint64_t) { return some_encoding(r, is_of_steps); },
     [](Decentral& r, std::uint64_t) { encode_by_signs(r, is_of_steps); }},
    {"`--update decentral` with `--encoded-by`, except for `--encode` with `--algorithm average` "
     "or `block`",
     "no encoded messages are summed", "`--encoded-by auto`",
     [](const Decentral& r, std::uint64_t) {
       return !(sums_models(r.algorithm) && encodes(r.encode)) && r.encode.by != EncodedForm::Auto;
     },
     [](Decentral& r, std::uint64_t) { r.encode.by = EncodedForm::Auto; }},
    {"`--encode` with an `--algorithm` other than `average`, `block`, `neighbours` or `stream`",
     "sender and receiver have no common model to which differences could refer",
     "`--encode fp32`; or `--algorithm average`",
     [](const Decentral& r, std::uint64_t) {
       return encodes(r.encode) && !takes_encodings(r.algorithm);
     },
     [](Decentral& r, std::uint64_t) { r.encode = Encode(); }},
    {"`--update decentral` with `--encoded-by sparse` or `kylix` and an `--encode` that sends no "
     "lists of positions, except for `kylix` with `fp16` or `bf16`",
     "these algorithms send and merge lists of positions", "`--encoded-by auto`",
     [](const Decentral& r, std::uint64_t) {
       return (r.encode.by == EncodedForm::Sparse &&
               some_encoding(r, [](const Encoding& e) { return !has_lists(e); })) ||
              (r.encode.by == EncodedForm::Kylix &&
               some_encoding(r, [](const Encoding& e) { return !leaves_zeros(e); }));
     },
     [](Decentral& r, std::uint64_t) { r.encode.by = EncodedForm::Auto; }},
    {"`--algorithm neighbours` with an `--encode` that draws (`qsgd`, `terngrad`, `dorefa`, "
     "`fixed16`, `randomk`)",
     "the noise of the encoding may exceed the differences of the models, and would grow from step "
     "to step",
     "`--encode onebit`",
     [](const Decentral& r, std::uint64_t) { return mixes_encoded(r) && some_encoding(r, draws); },
     [](Decentral& r, std::uint64_t) { encode_by_signs(r, draws); }},
    {"`--algorithm neighbours` with `--encode` and `--topology hypercube`",
     "the partners change, but a difference refers to the message before to the same neighbour",
     "`--topology ring`",
     [](const Decentral& r, std::uint64_t) {
       return mixes_encoded(r) && std::holds_alternative<topology::Hypercube>(*topology_of(r));
     },
     use_ring},
    {"`--mix-rate` without `--encode`", "only encoded models mix with a reduced rate",
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
