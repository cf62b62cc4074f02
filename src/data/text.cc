// Text, one byte per character: a sample is a window of T characters, the targets are their
// successors.
#include <array>
#include <cmath>

#include "base/random.h"
#include "data/fill.h"
#include "data/formats.h"
#include "data/parse.h"

namespace shoal {
namespace {

struct Alphabet {
  std::array<std::int64_t, 256> number{};  // number of a byte, in the order of bytes
  std::vector<std::string> symbols;
};

Alphabet alphabet_of(std::string_view text) {
  std::array<bool, 256> seen{};
  for (const char c : text) seen[static_cast<unsigned char>(c)] = true;
  Alphabet alphabet;
  for (std::size_t byte = 0; byte < seen.size(); ++byte) {
    if (!seen[byte]) continue;
    alphabet.number[byte] = static_cast<std::int64_t>(alphabet.symbols.size());
    alphabet.symbols.emplace_back(1, static_cast<char>(byte));
  }
  return alphabet;
}

// The windows are adjacent, so an epoch sees each character once.
class TextSource final : public BatchSource {
 public:
  TextSource(FileView file, std::string_view part, const Alphabet& alphabet,
             const DatasetOptions& options)
      : file_(std::move(file)),
        part_(part),
        number_(alphabet.number),
        options_(options),
        size_((part.size() - 1) / options.length) {
    shape_ = {InputKind::Tokens,
              {static_cast<std::int64_t>(options.length)},
              TargetKind::Next,
              static_cast<std::int64_t>(alphabet.symbols.size())};
  }
  const SampleShape& shape() const override { return shape_; }
  std::uint64_t size() const override { return size_; }
  void fill(std::uint64_t epoch, std::span<const SampleId> samples, Batch& batch) const override {
    begin_batch(shape_, samples.size(), batch);
    const std::uint64_t length = options_.length;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      check_sample(samples[i], size_);
      const char* const from = part_.data() + begin(epoch, samples[i]);
      for (std::uint64_t k = 0; k < length; ++k) {
        batch.tokens[i * length + k] = number_[static_cast<unsigned char>(from[k])];
        batch.labels[i * length + k] = number_[static_cast<unsigned char>(from[k + 1])];
      }
    }
  }

 private:
  std::uint64_t begin(std::uint64_t epoch, SampleId sample) const {
    const std::uint64_t at = sample * options_.length;
    if (!options_.augment) return at;
    const std::uint64_t last = part_.size() - 1 - options_.length;
    const std::uint64_t shift =
        Random(options_.seed, Purpose::Augment, epoch, sample).below(options_.length);
    return std::min(at + shift, last);
  }

  FileView file_;
  std::string_view part_;
  std::array<std::int64_t, 256> number_;
  DatasetOptions options_;
  std::uint64_t size_;
  SampleShape shape_;
};

}  // namespace

Dataset open_text(std::string_view rest, const DatasetOptions& given, const FileOpener& opener) {
  const FileSpec spec = split_file_spec(rest);
  DatasetOptions options = given;
  SpecKeys keys("text", spec.keys, ':');
  options.length = keys.count("length", options.length, 1, 1U << 20U);
  keys.finish();
  const FileView file = opener(spec.path);
  const std::string_view text = text_of(file);
  const auto held_out = static_cast<std::size_t>(
      std::floor(options.test_fraction * static_cast<double>(text.size())));
  const std::string_view train = text.substr(0, text.size() - held_out);
  const std::string_view test = text.substr(train.size());
  const bool tests = options.test_fraction > 0;
  if (train.size() <= options.length || (tests && test.size() <= options.length))
    throw DataError(
        fmt::format("{} has {} bytes: too few for windows of {}, to train{}. For shorter "
                    "windows: text:FILE:length=N",
                    file.path, text.size(), options.length, tests ? " and to test" : ""));
  const Alphabet alphabet = alphabet_of(text);
  if (alphabet.symbols.size() < 2)
    throw DataError(fmt::format("{} repeats one character: nothing to learn", file.path));

  Dataset dataset;
  dataset.train = std::make_shared<TextSource>(file, train, alphabet, options);
  options.augment = false;
  if (tests) dataset.test = std::make_shared<TextSource>(file, test, alphabet, options);
  dataset.name = fmt::format("{} characters of {} kinds from {}, in windows of {}", text.size(),
                             alphabet.symbols.size(), file.path, options.length);
  dataset.class_names = alphabet.symbols;
  return dataset;
}

}  // namespace shoal
