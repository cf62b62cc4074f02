#include "encoded/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/random.h"

namespace shoal {
namespace {

constexpr std::size_t kSample = 1 << 18;  // elements; more than a cache holds, with the residual
constexpr int kTries = 3;
constexpr Elements kLeast{1024};  // shorter ones take their latency, however they are sent
constexpr const char* kCandidates[] = {"fp16", "onebit+ef", "topk:0.01+ef"};

std::vector<float> sample() {
  std::vector<float> values(kSample);
  Random random(Seed(1), Purpose::Test);
  for (float& x : values) x = static_cast<float>(random.uniform()) - 0.5F;
  return values;
}

}  // namespace

Task<std::vector<CodecSpeed>> measure_codecs(const Group& group, Gathering& gathering,
                                             std::uint64_t operation) {
  Env& env = group.node.env;
  const std::vector<float> values = sample();
  std::vector<float> rest(values.size()), sum(values.size());
  std::vector<CodecSpeed> speeds;
  std::vector<double> seconds_each;
  for (const char* const name : kCandidates) {
    const Encoding encoding = parse_encoding(name);
    const std::unique_ptr<Codec> codec = make_codec(encoding);
    std::vector<std::byte> bytes(codec->bound(values.size()));
    double encode = 1, decode = 1;
    std::size_t size = 0;
    for (int i = 0; i < kTries; ++i) {
      const Time begin = env.now();
      co_await env.work(Work::Encode, Elements(kSample), [&] {
        std::ranges::copy(values, rest.begin());
        size = codec->encode_with_rest({rest, values}, rest, bytes, {});
      });
      const Time encoded = env.now();
      co_await env.work(Work::Decode, Elements(kSample),
                        [&] { codec->decode_add(std::span(bytes).first(size), sum); });
      encode = std::min(encode, seconds(encoded - begin));
      decode = std::min(decode, seconds(env.now() - encoded));
    }
    speeds.push_back({encoding, 0, 0});
    seconds_each.push_back(encode / kSample);
    seconds_each.push_back(decode / kSample);
  }
  const std::span<const double> own = seconds_each;
  const std::vector<double> all = co_await gathering.of_all(group, own, operation);
  for (std::size_t k = 0; k < speeds.size(); ++k)
    for (std::size_t r = 0; r < group.size(); ++r) {
      const double* const theirs = &all[r * own.size() + 2 * k];
      speeds[k].encode = std::max(speeds[k].encode, theirs[0]);
      speeds[k].decode = std::max(speeds[k].decode, theirs[1]);
    }
  co_return speeds;
}

double predict_plain(const EncodingCosts& costs, Elements n) {
  return choose(costs.links, costs.shape, Bytes(n.value() * sizeof(float))).seconds;
}

double predict_encoded(const EncodingCosts& costs, const CodecSpeed& codec, Elements n) {
  const auto P = static_cast<double>(costs.shape.members);
  const auto elements = static_cast<double>(n.value());
  const auto bytes = static_cast<double>(
      make_codec(codec.encoding)->expected(static_cast<std::size_t>(n.value())));
  const LinkCost& link = costs.shape.hosts > 1 ? costs.links.between : costs.links.inside;
  const double sent = P <= 2 ? link.alpha + bytes * link.beta
                             : 2 * link.alpha + 2 * (P - 1) / P * bytes * link.beta;
  return elements * (codec.encode + P * codec.decode) + sent;
}

Encoding choose_encoding(const EncodingCosts& costs, Elements n) {
  Encoding best;
  if (n < kLeast) return best;
  double least = predict_plain(costs, n);
  for (const CodecSpeed& codec : costs.codecs) {
    const double takes = predict_encoded(costs, codec, n);
    if (takes >= least) continue;
    least = takes;
    best = codec.encoding;
  }
  return best;
}

std::string explain(const EncodingCosts& costs, std::span<const Cut> pieces) {
  std::map<std::string, std::pair<std::size_t, Elements>> chosen;
  double plain = 0, takes = 0;
  for (const Cut& piece : pieces) {
    const Encoding encoding = choose_encoding(costs, piece.n);
    auto& [count, elements] = chosen[to_string(encoding)];
    ++count;
    elements += piece.n;
    plain += predict_plain(costs, piece.n);
    double here = predict_plain(costs, piece.n);
    for (const CodecSpeed& codec : costs.codecs)
      if (codec.encoding == encoding) here = predict_encoded(costs, codec, piece.n);
    takes += here;
  }
  std::string text;
  for (const auto& [name, of] : chosen)
    text += fmt::format("{}{} for {} tensor{} of {} elements", text.empty() ? "" : ", ", name,
                        of.first, of.first == 1 ? "" : "s", of.second);
  const LinkCost& link = costs.shape.hosts > 1 ? costs.links.between : costs.links.inside;
  text += fmt::format(": {:.2f} ms a step of exchange, {:.2f} plain; the link carries {:.0f} MB/s",
                      1e3 * takes, 1e3 * plain, link.beta > 0 ? 1e-6 / link.beta : 0.0);
  for (const CodecSpeed& codec : costs.codecs)
    text += fmt::format(", {} {:.1f} GB/s", to_string(codec.encoding),
                        4e-9 / (codec.encode + codec.decode));
  return text;
}

}  // namespace shoal
