#include "data/synthetic.h"

#include <array>

#include "base/nearest.h"
#include "data/fill.h"
#include "data/formats.h"

namespace shoal {
namespace {

class SyntheticSource final : public BatchSource {
 public:
  SyntheticSource(std::shared_ptr<const Generator> generator, std::uint64_t first, std::uint64_t n)
      : generator_(std::move(generator)), first_(first), n_(n) {}
  const SampleShape& shape() const override { return generator_->shape(); }
  std::uint64_t size() const override { return n_; }
  void fill(std::uint64_t, std::span<const SampleId> samples, Batch& batch) const override {
    begin_batch(shape(), samples.size(), batch);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      check_sample(samples[i], n_);
      generator_->make(first_ + samples[i], i, batch);
    }
  }

 private:
  std::shared_ptr<const Generator> generator_;
  std::uint64_t first_;  // of the generator's samples
  std::uint64_t n_;
};

struct Kind {
  std::string_view name;
  GeneratorFactory make;
};
constexpr std::array kKinds{
    Kind{"blobs", make_blobs},     Kind{"spirals", make_spirals}, Kind{"images", make_images},
    Kind{"teacher", make_teacher}, Kind{"sparse", make_sparse},   Kind{"text", make_text},
};

constexpr std::uint64_t kSamplesMax = std::uint64_t{1} << 40U;

}  // namespace

Dataset open_synthetic(std::string_view rest, const DatasetOptions& options, const FileOpener&) {
  const std::size_t comma = rest.find(',');
  const std::string_view name = rest.substr(0, comma);
  std::vector<std::string> known;
  for (const Kind& kind : kKinds) {
    known.emplace_back(kind.name);
    if (kind.name != name) continue;
    SpecKeys keys(fmt::format("synthetic:{}", name),
                  comma == std::string_view::npos ? "" : rest.substr(comma + 1), ',');
    const std::uint64_t n = keys.count("n", 10'000, 1, kSamplesMax);
    const std::uint64_t test = keys.count("test", 1'000, 0, kSamplesMax);
    const std::shared_ptr<const Generator> generator = kind.make(options.seed, keys);
    keys.finish();
    Dataset dataset;
    dataset.train = std::make_shared<SyntheticSource>(generator, 0, n);
    // Samples after those of training: of the same kind, but never trained on.
    if (test > 0) dataset.test = std::make_shared<SyntheticSource>(generator, kSamplesMax, test);
    dataset.name = fmt::format("synthetic {}, {} samples to train and {} to test", name, n, test);
    return dataset;
  }
  throw ConfigError(
      fmt::format("{} is not a kind of synthetic data. {}", shown(name), suggest(name, known)));
}

}  // namespace shoal
