// Images kept as bytes, a quarter of the size of floats, and converted to numbers on demand:
// normalized per channel, and for training cropped and flipped. Private to this layer.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.h"
#include "learner/batch.h"
#include "runtime/file_view.h"

namespace shoal {

// The images of one file. A file may hold image and label side by side, hence the strides.
struct ImagePart {
  std::shared_ptr<const void> owner;        // of the images
  std::shared_ptr<const void> label_owner;  // of the labels
  const std::uint8_t* images = nullptr;     // image i begins at images + i * image_stride
  std::size_t image_stride = 0;
  const std::uint8_t* labels = nullptr;
  std::size_t label_stride = 0;
  std::uint64_t n = 0;
};

struct ImageSize {
  std::uint32_t channels = 0, height = 0, width = 0;
  std::size_t pixels() const { return std::size_t{channels} * height * width; }
  bool operator==(const ImageSize&) const = default;
};

// Mean and deviation per channel, where 0 is black and 1 is white.
struct PixelStatistics {
  std::vector<float> mean, deviation;
};

// Over at most some ten thousand images, evenly spread.
PixelStatistics pixel_statistics(const std::vector<ImagePart>& parts, const ImageSize& size);

struct ImageOptions {
  ImageSize size;
  std::int64_t classes = 0;
  PixelStatistics pixels;
  Seed seed{};
  // Each sample of each epoch is shifted by up to kCropPadding pixels, with black borders, and
  // mirrored in half of all cases.
  bool augment = false;
};
inline constexpr std::uint32_t kCropPadding = 4;

class ImageSource final : public BatchSource {
 public:
  // REQUIRES: labels are below `classes`.
  ImageSource(std::vector<ImagePart> parts, ImageOptions options);

  const SampleShape& shape() const override { return shape_; }
  std::uint64_t size() const override { return size_; }
  void fill(std::uint64_t epoch, std::span<const SampleId> samples, Batch& batch) const override;

 private:
  struct Move {
    std::int32_t down = 0, right = 0;  // position of the window over the image
    bool mirrored = false;
  };
  Move draw_move(std::uint64_t epoch, SampleId sample) const;
  void convert(const std::uint8_t* image, const Move& move, float* out) const;

  std::vector<ImagePart> parts_;
  ImageOptions options_;
  std::vector<float> scale_, shift_;  // per channel: number = byte * scale + shift
  SampleShape shape_;
  std::uint64_t size_ = 0;
};

}  // namespace shoal
