#include "encoded/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/random.h"

namespace shoal {
namespace {

constexpr std::uint64_t kSampleLeast = 1 << 14, kSampleMost = 1 << 21;  // elements
constexpr std::size_t kFewer = 4;  // times, in the shorter of two samples
constexpr int kTries = 3;
constexpr Elements kLeast{1024};  // shorter ones take their latency, however they are sent

std::vector<float> sample(Elements n) {
  std::vector<float> values(std::clamp(n.value(), kSampleLeast, kSampleMost));
  Random random(Seed(1), Purpose::Test);
  for (float& x : values) x = static_cast<float>(random.uniform()) - 0.5F;
  return values;
}

// The shortest time for this number of elements.
struct CodecTimes {
  double encode = 1, decode = 1;
};
Task<CodecTimes> time_codec(Env& env, const Codec& codec, std::span<const float> values) {
  std::vector<float> carried(values.size()), residual(values.size()), sum(values.size());
  std::vector<std::byte> bytes(codec.bound(values.size()));
  const Elements n(values.size());
  CodecTimes best;
  std::size_t size = 0;
  for (int i = 0; i < kTries; ++i) {
    const Time begin = env.now();
    co_await env.work(Work::Encode, n,
                      [&] { size = codec.encode_carried(values, carried, residual, bytes, {}); });
    const Time encoded = env.now();
    co_await env.work(Work::Decode, n,
                      [&] { codec.decode_add(std::span(bytes).first(size), sum); });
    best.encode = std::min(best.encode, seconds(encoded - begin));
    best.decode = std::min(best.decode, seconds(env.now() - encoded));
  }
  co_return best;
}

// A line through two lengths: a mean would charge a long tensor for what a short one takes.
CodecSpeed line_through(const Encoding& encoding, std::size_t n_few, const CodecTimes& few,
                        std::size_t n_many, const CodecTimes& many) {
  const auto each = [&](double of_few, double of_many) {
    return of_many > of_few ? (of_many - of_few) / static_cast<double>(n_many - n_few)
                            : of_many / static_cast<double>(n_many);
  };
  CodecSpeed speed{encoding, each(few.encode, many.encode), each(few.decode, many.decode)};
  const double loops = static_cast<double>(n_few) * (speed.encode + speed.decode);
  speed.once = std::max(0.0, few.encode + few.decode - loops);
  return speed;
}

}  // namespace

Task<std::vector<CodecSpeed>> measure_codecs(const Group& group, Gathering& gathering, Elements n,
                                             std::uint64_t operation) {
  const std::vector<float> values = sample(n);
  const std::span<const float> short_ones = std::span(values).first(values.size() / kFewer);
  std::vector<CodecSpeed> speeds;
  std::vector<double> numbers;
  for (const EncodingRow& row : encoding_rows()) {
    if (!row.examples.candidate) continue;
    const Encoding encoding = parse_encoding(row.examples.usual);
    const std::unique_ptr<Codec> codec = make_codec(encoding);
    const CodecTimes few = co_await time_codec(group.node.env, *codec, short_ones);
    const CodecTimes many = co_await time_codec(group.node.env, *codec, values);
    const CodecSpeed own = line_through(encoding, short_ones.size(), few, values.size(), many);
    numbers.insert(numbers.end(), {own.encode, own.decode, own.once});
    speeds.push_back({encoding});
  }
  const std::span<const double> own = numbers;
  const std::vector<double> all = co_await gathering.of_all(group, own, operation);
  for (std::size_t k = 0; k < speeds.size(); ++k)
    for (std::size_t r = 0; r < group.size(); ++r) {
      const double* const theirs = &all[r * own.size() + 3 * k];
      speeds[k].encode = std::max(speeds[k].encode, theirs[0]);
      speeds[k].decode = std::max(speeds[k].decode, theirs[1]);
      speeds[k].once = std::max(speeds[k].once, theirs[2]);
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
  return codec.once + elements * (codec.encode + P * codec.decode) + sent;
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

namespace {

double predict(const EncodingCosts& costs, const Encoding& encoding, Elements n) {
  for (const CodecSpeed& codec : costs.codecs)
    if (codec.encoding == encoding) return predict_encoded(costs, codec, n);
  return predict_plain(costs, n);
}

}  // namespace

std::vector<Encoding> choose_encodings(const EncodingCosts& costs, std::span<const Cut> pieces) {
  std::vector<Encoding> chosen;
  double plain = 0, takes = 0;
  for (const Cut& piece : pieces) {
    chosen.push_back(choose_encoding(costs, piece.n));
    plain += predict_plain(costs, piece.n);
    takes += predict(costs, chosen.back(), piece.n);
  }
  if (takes > kWorthwhile * plain) chosen.assign(pieces.size(), Encoding());
  return chosen;
}

std::string explain(const EncodingCosts& costs, std::span<const Cut> pieces) {
  std::map<std::string, std::pair<std::size_t, Elements>> chosen;
  const std::vector<Encoding> encodings = choose_encodings(costs, pieces);
  double plain = 0, takes = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    auto& [count, elements] = chosen[to_string(encodings[i])];
    ++count;
    elements += pieces[i].n;
    plain += predict_plain(costs, pieces[i].n);
    takes += predict(costs, encodings[i], pieces[i].n);
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
