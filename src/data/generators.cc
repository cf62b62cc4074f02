// The kinds of synthetic data. The draws of a sample are keyed by its number, those of the problem
// (centers, patterns, the teacher's weights) by the part they belong to.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/permutation.h"
#include "base/random.h"
#include "data/synthetic.h"

namespace shoal {
namespace {

// Maximum of numbers that a problem may keep.
constexpr std::uint64_t kTableMax = std::uint64_t{1} << 24U;
constexpr std::uint64_t kClassesMax = 1U << 16U;
constexpr float kTau = 2 * std::numbers::pi_v<float>;

// The part of the problem that a draw belongs to; samples have the first one to themselves.
enum class Part : std::uint64_t { Sample = 0, Center, Pattern, HiddenLayer, OutputLayer, Chain };
Random draws(Seed seed, Part part, std::uint64_t which) {
  return {seed, Purpose::Problem, which, static_cast<std::uint64_t>(part)};
}

std::vector<float> normal_table(Random random, std::uint64_t n, double scale) {
  std::vector<float> table(n);
  for (float& x : table) x = static_cast<float>(scale * random.normal());
  return table;
}

void check_table(std::string_view what, std::uint64_t a, std::uint64_t b) {
  if (a > kTableMax / b)
    throw ConfigError(fmt::format("synthetic: {} = {} x {} is too large for memory", what, a, b));
}

std::int64_t draw_class(Random& random, std::int64_t classes) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(classes)));
}

// Round clouds of points, one center for each class.
class Blobs final : public Generator {
 public:
  Blobs(Seed seed, SpecKeys& keys) : Generator(seed) {
    features_ = keys.count("features", 2, 1, 1U << 24U);
    const std::uint64_t classes = keys.count("classes", 3, 2, kClassesMax);
    noise_ = keys.number("noise", 0.5, 0, 1e6);
    check_table("features x classes", features_, classes);
    centers_ = normal_table(draws(seed, Part::Center, 0), features_ * classes, 2.0);
    shape_ = {InputKind::Dense,
              {static_cast<std::int64_t>(features_)},
              TargetKind::Classes,
              static_cast<std::int64_t>(classes)};
  }
  void make(std::uint64_t sample, std::uint64_t slot, Batch& batch) const override {
    Random random = draws(seed_, Part::Sample, sample);
    const std::int64_t label = draw_class(random, shape_.classes);
    const float* const center = centers_.data() + static_cast<std::uint64_t>(label) * features_;
    float* const x = batch.dense.data() + slot * features_;
    for (std::uint64_t k = 0; k < features_; ++k)
      x[k] = center[k] + static_cast<float>(noise_ * random.normal());
    batch.labels[slot] = label;
  }

 private:
  std::uint64_t features_;
  double noise_;
  std::vector<float> centers_;  // classes x features
};

// Arms that wind around each other in the plane: no line separates them.
class Spirals final : public Generator {
 public:
  Spirals(Seed seed, SpecKeys& keys) : Generator(seed) {
    const std::uint64_t classes = keys.count("classes", 3, 2, 64);
    noise_ = keys.number("noise", 0.05, 0, 1e6);
    turns_ = keys.number("turns", 1, 0.1, 10);
    shape_ = {InputKind::Dense, {2}, TargetKind::Classes, static_cast<std::int64_t>(classes)};
  }
  void make(std::uint64_t sample, std::uint64_t slot, Batch& batch) const override {
    Random random = draws(seed_, Part::Sample, sample);
    const std::int64_t label = draw_class(random, shape_.classes);
    const double radius = random.uniform();
    const double angle =
        2 * std::numbers::pi *
        (turns_ * radius + static_cast<double>(label) / static_cast<double>(shape_.classes));
    float* const x = batch.dense.data() + slot * 2;
    x[0] = static_cast<float>(radius * std::cos(angle) + noise_ * random.normal());
    x[1] = static_cast<float>(radius * std::sin(angle) + noise_ * random.normal());
    batch.labels[slot] = label;
  }

 private:
  double noise_, turns_;
};

// A class is a sum of a few waves per channel; a sample shows it shifted, with noise. Waves need no
// table, and cos(a + b) makes a pixel of two products.
class Images final : public Generator {
 public:
  Images(Seed seed, SpecKeys& keys) : Generator(seed) {
    side_ = keys.count("size", 28, 1, 1U << 12U);
    channels_ = keys.count("channels", 1, 1, 64);
    const std::uint64_t classes = keys.count("classes", 10, 2, kClassesMax);
    noise_ = static_cast<float>(keys.number("noise", 0.5, 0, 1e6));
    shape_ = {InputKind::Dense,
              {static_cast<std::int64_t>(channels_), static_cast<std::int64_t>(side_),
               static_cast<std::int64_t>(side_)},
              TargetKind::Classes,
              static_cast<std::int64_t>(classes)};
  }
  void make(std::uint64_t sample, std::uint64_t slot, Batch& batch) const override {
    Random random = draws(seed_, Part::Sample, sample);
    const std::int64_t label = draw_class(random, shape_.classes);
    const double shift = 0.1 * random.uniform();  // relative to the side
    Random pattern = draws(seed_, Part::Pattern, static_cast<std::uint64_t>(label));
    float* const out = batch.dense.data() + slot * channels_ * side_ * side_;
    add_noise(random, out, channels_ * side_ * side_);
    std::vector<float> cos_x(side_), sin_x(side_);
    for (std::uint64_t wave = 0; wave < channels_ * kWaves; ++wave) {
      const auto across = static_cast<float>(pattern.between(0, 4));
      const auto down = static_cast<float>(pattern.between(1, 4));
      const auto phase = static_cast<float>(pattern.uniform() + shift);
      for (std::uint64_t x = 0; x < side_; ++x) {
        const float angle = kTau * (across * place(x) + phase);
        cos_x[x] = std::cos(angle);
        sin_x[x] = std::sin(angle);
      }
      float* const plane = out + wave / kWaves * side_ * side_;
      for (std::uint64_t y = 0; y < side_; ++y) {
        const float c = std::cos(kTau * down * place(y)), s = std::sin(kTau * down * place(y));
        for (std::uint64_t x = 0; x < side_; ++x)
          plane[y * side_ + x] += cos_x[x] * c - sin_x[x] * s;
      }
    }
    batch.labels[slot] = label;
  }

 private:
  static constexpr std::uint64_t kWaves = 3;
  float place(std::uint64_t i) const { return static_cast<float>(i) / static_cast<float>(side_); }
  // Uniform noise of deviation noise_: four pixels per draw of 64 bits.
  void add_noise(Random& random, float* out, std::uint64_t n) const {
    const float scale = noise_ * std::sqrt(12.0F) / 65536.0F;
    std::uint64_t bits = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      bits = i % 4 == 0 ? random.bits() : bits >> 16U;
      out[i] = (static_cast<float>(bits & 0xffffU) - 32767.5F) * scale;
    }
  }

  std::uint64_t side_, channels_;
  float noise_;
};

// A random network with one hidden layer labels random points, so a network of the same shape can
// learn the labels exactly.
class Teacher final : public Generator {
 public:
  Teacher(Seed seed, SpecKeys& keys) : Generator(seed) {
    features_ = keys.count("features", 20, 1, 1U << 20U);
    hidden_ = keys.count("hidden", 32, 1, 1U << 16U);
    const std::uint64_t values = keys.count("values", 0, 0, 1U << 10U);
    outputs_ = keys.count("classes", 10, 2, 1U << 10U);
    noise_ = keys.number("noise", 0, 0, 1e6);
    if (values > 0) outputs_ = values;
    check_table("features x hidden", features_, hidden_);
    const auto scale = [](std::uint64_t n) { return 1.0 / std::sqrt(static_cast<double>(n)); };
    first_ = normal_table(draws(seed, Part::HiddenLayer, 0), features_ * hidden_, scale(features_));
    second_ = normal_table(draws(seed, Part::OutputLayer, 0), hidden_ * outputs_, scale(hidden_));
    shape_ = {InputKind::Dense,
              {static_cast<std::int64_t>(features_)},
              values > 0 ? TargetKind::Values : TargetKind::Classes,
              static_cast<std::int64_t>(outputs_)};
  }
  void make(std::uint64_t sample, std::uint64_t slot, Batch& batch) const override {
    Random random = draws(seed_, Part::Sample, sample);
    float* const x = batch.dense.data() + slot * features_;
    for (std::uint64_t k = 0; k < features_; ++k) x[k] = static_cast<float>(random.normal());
    std::vector<float> hidden(hidden_), out(outputs_);
    for (std::uint64_t h = 0; h < hidden_; ++h) {
      float sum = 0;
      for (std::uint64_t k = 0; k < features_; ++k) sum += first_[h * features_ + k] * x[k];
      hidden[h] = std::tanh(2 * sum);
    }
    for (std::uint64_t o = 0; o < outputs_; ++o) {
      out[o] = static_cast<float>(noise_ * random.normal());
      for (std::uint64_t h = 0; h < hidden_; ++h) out[o] += second_[o * hidden_ + h] * hidden[h];
    }
    if (shape_.target == TargetKind::Values) {
      std::ranges::copy(out, batch.values.data() + slot * outputs_);
    } else {
      batch.labels[slot] = std::ranges::max_element(out) - out.begin();
    }
  }

 private:
  std::uint64_t features_, hidden_, outputs_;
  double noise_;
  std::vector<float> first_, second_;  // hidden x features, outputs x hidden
};

// A linear rule over many features, of which a sample has a few. Feature j occurs about as often as
// 1 / j^skew. With a skew of 1 they behave like words: few are frequent and most are rare. With 0
// all are equally frequent.
class Sparse final : public Generator {
 public:
  Sparse(Seed seed, SpecKeys& keys) : Generator(seed) {
    features_ = keys.count("features", 10'000, 1, std::uint64_t{1} << 31U);
    pairs_ = keys.count("pairs", 20, 1, 1U << 16U);
    skew_ = keys.number("skew", 1, 0, 1);
    const std::uint64_t classes = keys.count("classes", 2, 2, 1U << 10U);
    noise_ = keys.number("noise", 0, 0, 1e6);
    shape_ = {InputKind::Sparse,
              {static_cast<std::int64_t>(features_)},
              TargetKind::Classes,
              static_cast<std::int64_t>(classes)};
  }
  void make(std::uint64_t sample, std::uint64_t slot, Batch& batch) const override {
    Random random = draws(seed_, Part::Sample, sample);
    const std::size_t first = batch.indices.size();
    for (std::uint64_t k = 0; k < pairs_; ++k) {
      const auto rank = static_cast<std::uint64_t>(feature_at(random.uniform()));
      batch.indices.push_back(
          static_cast<std::int64_t>(std::clamp<std::uint64_t>(rank, 1, features_) - 1));
    }
    const auto begin = batch.indices.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, batch.indices.end());
    batch.indices.erase(std::unique(begin, batch.indices.end()), batch.indices.end());
    std::vector<double> score(static_cast<std::size_t>(shape_.classes));
    for (double& s : score) s = noise_ * random.normal();
    for (std::size_t k = first; k < batch.indices.size(); ++k) {
      batch.weights.push_back(static_cast<float>(random.normal()));
      Random truth = draws(seed_, Part::Pattern, static_cast<std::uint64_t>(batch.indices[k]));
      for (double& s : score) s += truth.normal() * static_cast<double>(batch.weights[k]);
    }
    batch.offsets.push_back(static_cast<std::int64_t>(batch.indices.size()));
    batch.labels[slot] = std::ranges::max_element(score) - score.begin();
  }

 private:
  // A feature number from 1, with the frequency given by the skew.
  double feature_at(double uniform) const {
    const double end = static_cast<double>(features_) + 1;
    if (skew_ == 1) return std::exp(std::log(end) * uniform);
    const double power = 1 - skew_;
    return std::pow(1 + (std::pow(end, power) - 1) * uniform, 1 / power);
  }

  std::uint64_t features_, pairs_;
  double skew_;
  double noise_;
};

// A chain of symbols: each is followed by one of four, half of the time by the first of them.
class Text final : public Generator {
 public:
  Text(Seed seed, SpecKeys& keys) : Generator(seed) {
    symbols_ = keys.count("classes", 27, 2, kClassesMax);
    length_ = keys.count("length", 64, 1, 1U << 16U);
    Random random = draws(seed, Part::Chain, 0);
    followers_.resize(symbols_ * kFollowers);
    for (std::uint64_t& next : followers_) next = random.below(symbols_);
    // The frequent followers are all different, so every symbol occurs.
    const Permutation frequent(symbols_, random);
    for (std::uint64_t s = 0; s < symbols_; ++s) followers_[s * kFollowers] = frequent.at(s);
    shape_ = {InputKind::Tokens,
              {static_cast<std::int64_t>(length_)},
              TargetKind::Next,
              static_cast<std::int64_t>(symbols_)};
  }
  void make(std::uint64_t sample, std::uint64_t slot, Batch& batch) const override {
    Random random = draws(seed_, Part::Sample, sample);
    std::uint64_t symbol = random.below(symbols_);
    for (std::uint64_t k = 0; k < length_; ++k) {
      batch.tokens[slot * length_ + k] = static_cast<std::int64_t>(symbol);
      const std::uint64_t choice = random.below(2 * (kFollowers - 1));
      symbol =
          followers_[symbol * kFollowers + (choice < kFollowers - 1 ? 0 : choice - kFollowers + 2)];
      batch.labels[slot * length_ + k] = static_cast<std::int64_t>(symbol);
    }
  }

 private:
  static constexpr std::uint64_t kFollowers = 4;
  std::uint64_t symbols_, length_;
  std::vector<std::uint64_t> followers_;  // symbols x kFollowers
};

}  // namespace

std::unique_ptr<const Generator> make_blobs(Seed seed, SpecKeys& keys) {
  return std::make_unique<Blobs>(seed, keys);
}
std::unique_ptr<const Generator> make_spirals(Seed seed, SpecKeys& keys) {
  return std::make_unique<Spirals>(seed, keys);
}
std::unique_ptr<const Generator> make_images(Seed seed, SpecKeys& keys) {
  return std::make_unique<Images>(seed, keys);
}
std::unique_ptr<const Generator> make_teacher(Seed seed, SpecKeys& keys) {
  return std::make_unique<Teacher>(seed, keys);
}
std::unique_ptr<const Generator> make_sparse(Seed seed, SpecKeys& keys) {
  return std::make_unique<Sparse>(seed, keys);
}
std::unique_ptr<const Generator> make_text(Seed seed, SpecKeys& keys) {
  return std::make_unique<Text>(seed, keys);
}

}  // namespace shoal
