#include "bench/codec_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>

#include "base/random.h"
#include "bench/command.h"
#include "codec/encoding.h"
#include "codec/powersgd_step.h"

namespace shoal {
namespace {

// The largest layer of a perceptron of 784, 2048, 2048 and 10 units.
constexpr std::size_t kSide = 2048;

// CPU time of this thread, because the machine may be shared.
double cpu_s(const std::function<void()>& f) {
  timespec before{}, after{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  f();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  return static_cast<double>(after.tv_sec - before.tv_sec) +
         1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
}

struct Case {
  std::string encoding;
  double target;  // GB/s
};

// Every encoding that has a codec, then other settings of some. Targets are what the project asks
// for; 0: nothing.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const EncodingRow& row : encoding_rows()) {
    const EncodingExamples& e = row.examples;
    const std::string_view text = e.bench.empty() ? e.usual : e.bench;
    if (has_codec(parse_encoding(text))) all.push_back({std::string(text), e.bench_target});
  }
  all.push_back({"qsgd:4:elias", 0});
  all.push_back({"topk:0.01+ef+zstd", 0});
  return all;
}

// Sent values plus residual equal the input, and the bytes are the same on every machine.
bool is_right(const Encoding& encoding, const Codec& codec, std::span<const float> values) {
  std::vector<std::byte> bytes(codec.bound(values.size())), plain(bytes.size());
  std::vector<float> residual(values.size());
  bytes.resize(codec.encode_with_residual({values, values}, residual, bytes, {}));
  plain.resize(make_codec(encoding, Width::Plain)->encode({values, values}, plain, {}));
  std::vector<float> sent(values.size());
  codec.decode_add(bytes, sent);
  bool right = bytes == plain;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double whole = std::abs(static_cast<double>(values[i])) + std::abs(sent[i]);
    const double off = static_cast<double>(sent[i]) + residual[i] - static_cast<double>(values[i]);
    right = right && std::abs(off) <= 0x1p-24 * whole;
  }
  return right;
}

// A gradient, and the speed of memory for as many bytes.
struct Ground {
  std::vector<float> values;
  std::vector<float> other;
  double bytes = 0;

  double copy_gb() {
    const double took = cpu_s([&] { std::memcpy(other.data(), values.data(), 4 * values.size()); });
    return bytes / took * 1e-9;
  }
};

BenchRow bench_one(const Case& c, Ground& ground, int repeats) {
  const Encoding encoding = parse_encoding(c.encoding);
  const std::unique_ptr<Codec> codec = make_codec(encoding);
  const std::span<const float> values = ground.values;
  BenchRow row{.name = c.encoding, .unit = "GB/s", .target = c.target};
  row.verified = is_right(encoding, *codec, values);
  std::vector<std::byte> bytes(codec->bound(values.size()));
  std::vector<float> gradient(values.begin(), values.end()), carried(values.size());
  std::vector<double> both, encoding_gb, decoding_gb, copies;
  std::size_t size = 0;
  for (int i = 0; i <= repeats; ++i) {
    const DrawKey key{Seed(1), static_cast<std::uint64_t>(i), 0};
    const double out = cpu_s([&] {
      size = encoding.feedback ? codec->encode_carried(values, carried, gradient, bytes, key)
                               : codec->encode({values, values}, bytes, key);
    });
    const double in =
        cpu_s([&] { codec->decode_add(std::span(bytes).first(size), ground.other, 0.5F); });
    const double copied = ground.copy_gb();
    if (i == 0) continue;  // the first pass touches its pages for the first time
    both.push_back(ground.bytes / (out + in) * 1e-9);
    encoding_gb.push_back(ground.bytes / out * 1e-9);
    decoding_gb.push_back(ground.bytes / in * 1e-9);
    copies.push_back(copied);
  }
  row.ours = median(both);
  row.peers["memcpy"] = median(copies);
  row.note = fmt::format(
      "{:.1f} M elements, {:.2f} bits each; encode{} {:.1f}, decode {:.1f} GB/s, median of {}",
      static_cast<double>(values.size()) * 1e-6,
      8 * static_cast<double>(size) / static_cast<double>(values.size()),
      encoding.feedback ? " with residuals" : "", median(encoding_gb), median(decoding_gb),
      repeats);
  return row;
}

// All computation of a worker in a step of powersgd.
BenchRow bench_powersgd(std::size_t side, std::uint32_t rank, Ground& ground, int repeats) {
  BenchRow row{.name = fmt::format("powersgd:{}", rank), .unit = "GB/s"};
  const LowRank shape{side, side, rank};
  std::vector<float> p(shape.p_size()), q(shape.q_size());
  powersgd_start(shape, q, {});
  std::vector<float> matrix;
  std::vector<double> rates, copies;
  for (int i = 0; i <= repeats; ++i) {
    matrix = ground.values;
    std::ranges::fill(ground.other, 0.0F);
    const double took = cpu_s([&] {
      powersgd_project(shape, matrix, q, p);
      powersgd_orthogonalize(shape, p);
      powersgd_back(shape, matrix, p, q);
      powersgd_add(shape, p, q, 1, ground.other);
      powersgd_add(shape, p, q, -1, matrix);
    });
    if (i == 0) {
      row.verified = true;
      for (std::size_t j = 0; j < matrix.size(); ++j)
        row.verified =
            row.verified && std::abs(matrix[j] + ground.other[j] - ground.values[j]) < 1e-5;
      continue;
    }
    rates.push_back(ground.bytes / took * 1e-9);
    copies.push_back(ground.copy_gb());
  }
  row.ours = median(rates);
  row.peers["memcpy"] = median(copies);
  row.note = fmt::format(
      "{} by {}, {:.2f} bits an element; all of a step, median of {}", side, side,
      32.0 * static_cast<double>(p.size() + q.size()) / static_cast<double>(matrix.size()),
      repeats);
  return row;
}

}  // namespace

std::vector<BenchRow> bench_codec(double scale, int repeats) {
  const auto side = static_cast<std::size_t>(std::max(16.0, kSide * std::sqrt(scale)));
  Ground ground;
  ground.values.resize(side * side);
  ground.other.resize(side * side);
  ground.bytes = 4.0 * static_cast<double>(side * side);
  Random random(Seed(1), Purpose::Problem);
  for (float& x : ground.values) x = static_cast<float>(random.normal());
  std::vector<BenchRow> rows;
  for (const Case& c : cases()) rows.push_back(bench_one(c, ground, repeats));
  rows.push_back(bench_powersgd(side, 2, ground, repeats));
  return rows;
}

}  // namespace shoal
