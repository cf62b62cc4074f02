#include "data/images.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "data/fill.h"

namespace shoal {
namespace {

constexpr std::uint64_t kImagesMeasured = 10'000;

// The two loops over pixels, simple enough for the compiler to vectorize.
void normalize(const std::uint8_t* in, std::size_t n, float scale, float shift, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]) * scale + shift;
}

void normalize_mirrored(const std::uint8_t* in, std::size_t n, float scale, float shift,
                        float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[n - 1 - i]) * scale + shift;
}

}  // namespace

PixelStatistics pixel_statistics(const std::vector<ImagePart>& parts, const ImageSize& size) {
  std::uint64_t images = 0;
  for (const ImagePart& part : parts) images += part.n;
  const std::uint64_t every = std::max<std::uint64_t>(1, images / kImagesMeasured);
  const std::size_t plane = std::size_t{size.height} * size.width;
  std::vector<std::uint64_t> sum(size.channels), squares(size.channels);
  std::uint64_t measured = 0;
  for (const ImagePart& part : parts) {
    for (std::uint64_t i = 0; i < part.n; i += every, ++measured) {
      const std::uint8_t* pixel = part.images + i * part.image_stride;
      for (std::uint32_t c = 0; c < size.channels; ++c)
        for (std::size_t k = 0; k < plane; ++k, ++pixel) {
          sum[c] += *pixel;
          squares[c] += std::uint64_t{*pixel} * *pixel;
        }
    }
  }
  PixelStatistics statistics;
  const double n = static_cast<double>(measured) * static_cast<double>(plane);
  for (std::uint32_t c = 0; c < size.channels; ++c) {
    const double mean = static_cast<double>(sum[c]) / n / 255.0;
    const double square = static_cast<double>(squares[c]) / n / (255.0 * 255.0);
    statistics.mean.push_back(static_cast<float>(mean));
    statistics.deviation.push_back(
        static_cast<float>(std::sqrt(std::max(0.0, square - mean * mean))));
  }
  return statistics;
}

ImageSource::ImageSource(std::vector<ImagePart> parts, ImageOptions options)
    : parts_(std::move(parts)), options_(std::move(options)) {
  const ImageSize& size = options_.size;
  shape_ = {InputKind::Dense,
            {size.channels, size.height, size.width},
            TargetKind::Classes,
            options_.classes};
  for (const ImagePart& part : parts_) size_ += part.n;
  for (std::uint32_t c = 0; c < size.channels; ++c) {
    // If all pixels are equal there is nothing to scale.
    const float deviation = options_.pixels.deviation[c] > 0 ? options_.pixels.deviation[c] : 1.0F;
    scale_.push_back(1.0F / (255.0F * deviation));
    shift_.push_back(-options_.pixels.mean[c] / deviation);
  }
}

ImageSource::Move ImageSource::draw_move(std::uint64_t epoch, SampleId sample) const {
  if (!options_.augment) return {};
  Random random(options_.seed, Purpose::Augment, epoch, sample);
  const auto shift = [&] {
    return static_cast<std::int32_t>(random.below(2 * kCropPadding + 1)) -
           static_cast<std::int32_t>(kCropPadding);
  };
  Move move;
  move.down = shift();
  move.right = shift();
  move.mirrored = random.chance(0.5);
  return move;
}

void ImageSource::convert(const std::uint8_t* image, const Move& move, float* out) const {
  const auto height = static_cast<std::int32_t>(options_.size.height);
  const auto width = static_cast<std::int32_t>(options_.size.width);
  const std::size_t plane = std::size_t{options_.size.height} * options_.size.width;
  const bool still = move.down == 0 && move.right == 0 && !move.mirrored;
  // In each row of the window, [first, last) shows the image and the rest is black.
  const std::int32_t first = std::min(width, std::max(0, -move.right));
  const std::int32_t last = std::max(first, std::min(width, width - move.right));
  for (std::size_t c = 0; c < options_.size.channels; ++c, image += plane, out += plane) {
    const float scale = scale_[c], shift = shift_[c];
    if (still) {
      normalize(image, plane, scale, shift, out);
      continue;
    }
    for (std::int32_t y = 0; y < height; ++y) {
      float* const row = out + y * width;
      const std::int32_t from = y + move.down;
      if (from < 0 || from >= height || first == last) {
        std::fill_n(row, width, shift);
        continue;
      }
      const std::uint8_t* const shown = image + from * width + first + move.right;
      const auto n = static_cast<std::size_t>(last - first);
      // A mirrored window shows the image at the other end.
      float* const at = move.mirrored ? row + (width - last) : row + first;
      std::fill(row, at, shift);
      if (move.mirrored) {
        normalize_mirrored(shown, n, scale, shift, at);
      } else {
        normalize(shown, n, scale, shift, at);
      }
      std::fill(at + n, row + width, shift);
    }
  }
}

void ImageSource::fill(std::uint64_t epoch, std::span<const SampleId> samples, Batch& batch) const {
  begin_batch(shape_, samples.size(), batch);
  const std::size_t pixels = options_.size.pixels();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    check_sample(samples[i], size_);
    std::uint64_t at = samples[i];
    auto part = parts_.begin();
    for (; at >= part->n; ++part) at -= part->n;
    convert(part->images + at * part->image_stride, draw_move(epoch, samples[i]),
            batch.dense.data() + i * pixels);
    batch.labels[i] = part->labels[at * part->label_stride];
  }
}

}  // namespace shoal
