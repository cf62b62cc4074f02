// Files of images: MNIST's idx format and CIFAR-10's binary version.
//
//   idx     big-endian words: magic (0, 0, 8 = bytes, number of sizes), sizes; then the bytes
//   CIFAR   records of a label and three planes, red, green, blue, of 32 x 32 pixels
#include <algorithm>
#include <array>
#include <optional>

#include "data/formats.h"
#include "data/gunzip.h"
#include "data/images.h"
#include "data/parse.h"

namespace shoal {
namespace {

constexpr std::string_view kFashionFolder = "/usr/share/datasets/fashion-mnist";
constexpr std::uint64_t kWord = 4;
constexpr std::uint64_t kSideMax = 1U << 14U;  // pixels; a larger image means a damaged header

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t k) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < kWord; ++i)
    word = word << 8U | static_cast<std::uint32_t>(bytes[kWord * k + i]);
  return word;
}

struct IdxFile {
  FileView content;  // after the header
  std::array<std::uint32_t, 3> size{1, 1, 1};
  std::string path;
};

// Checks the header, whose word 0 must announce `sizes` sizes; returns the number of bytes that
// follow it.
std::uint64_t parse_idx_header(std::span<const std::byte> head, unsigned sizes, IdxFile& idx) {
  const std::uint64_t header = kWord * (1 + sizes);
  if (head.size() < header)
    throw DataError(fmt::format("{} has {} bytes, less than an idx header of {}", idx.path,
                                head.size(), header));
  const std::uint32_t magic = word_at(head, 0);
  if (magic != 0x0800 + sizes)
    throw DataError(
        fmt::format("{} begins with {:#010x} and not with {:#010x}: it is not an idx file of bytes "
                    "with {} size{}",
                    idx.path, magic, 0x0800 + sizes, sizes, sizes == 1 ? "" : "s"));
  std::uint64_t bytes = 1;
  for (unsigned k = 0; k < sizes; ++k) {
    idx.size[k] = word_at(head, 1 + k);
    if (idx.size[k] == 0 || (k > 0 && idx.size[k] > kSideMax))
      throw DataError(fmt::format("{}: its header has the impossible value {} for size {}",
                                  idx.path, idx.size[k], k + 1));
    bytes *= idx.size[k];  // at most 2^32 * 2^14 * 2^14
  }
  return bytes;
}

IdxFile read_idx(const FileView& file, unsigned sizes) {
  IdxFile idx;
  idx.path = file.path;
  const std::uint64_t header = kWord * (1 + sizes);
  FileView whole = file;
  std::uint64_t expected = 0;
  if (is_gzip(file)) {
    expected = parse_idx_header(gunzip(file, header), sizes, idx);
    // One byte more than expected reveals a file that is longer than its header says.
    auto bytes = std::make_shared<std::vector<std::byte>>(gunzip(file, header + expected + 1));
    whole.bytes = *bytes;
    whole.owner = bytes;
  } else {
    expected = parse_idx_header(file.bytes, sizes, idx);
  }
  const std::uint64_t found = whole.bytes.size() - header;
  if (found != expected)
    throw DataError(fmt::format("{}: its header promises {} bytes, but {} follow. Get it again.",
                                idx.path, expected,
                                found > expected ? "more" : fmt::format("only {}", found)));
  idx.content = {whole.owner, whole.bytes.subspan(header), file.path};
  return idx;
}

const std::uint8_t* octets(const FileView& file) {
  return reinterpret_cast<const std::uint8_t*>(file.bytes.data());
}

// The names that are in use for one file; messages show the first.
FileView open_any(const std::string& folder, std::string_view what, std::string_view suffix,
                  const FileOpener& opener) {
  const std::string first = fmt::format("{}/{}-{}", folder, what, suffix);
  for (const std::string& name :
       {first, first + ".gz", fmt::format("{}/{}.{}", folder, what, suffix)}) {
    try {
      return opener(name);
    } catch (const FileMissing&) {
      continue;
    }
  }
  throw FileMissing(fmt::format("there is neither {} nor {}.gz", first, first));
}

struct IdxSet {
  ImagePart part;
  ImageSize size;
  std::uint8_t label_max = 0;
};

// `classes`: the number of labels, if known.
IdxSet read_idx_set(const std::string& folder, std::string_view which,
                    std::optional<std::int64_t> classes, const FileOpener& opener) {
  const IdxFile images =
      read_idx(open_any(folder, fmt::format("{}-images", which), "idx3-ubyte", opener), 3);
  const IdxFile labels =
      read_idx(open_any(folder, fmt::format("{}-labels", which), "idx1-ubyte", opener), 1);
  if (images.size[0] != labels.size[0])
    throw DataError(fmt::format("{} has {} images, but {} has {} labels", images.path,
                                images.size[0], labels.path, labels.size[0]));
  IdxSet set;
  set.size = {1, images.size[1], images.size[2]};
  set.part = {images.content.owner, labels.content.owner,   octets(images.content),
              set.size.pixels(),    octets(labels.content), 1,
              images.size[0]};
  for (std::uint64_t i = 0; i < set.part.n; ++i) {
    const std::uint8_t label = set.part.labels[i];
    if (classes && label >= *classes)
      throw DataError(fmt::format("{}: label {} of record {} is not in 0 .. {}", labels.path, label,
                                  i, *classes - 1));
    set.label_max = std::max(set.label_max, label);
  }
  return set;
}

Dataset image_dataset(std::vector<ImagePart> train, std::vector<ImagePart> test,
                      ImageOptions options) {
  Dataset dataset;
  dataset.train = std::make_shared<ImageSource>(std::move(train), options);
  options.augment = false;
  dataset.test = std::make_shared<ImageSource>(std::move(test), options);
  return dataset;
}

std::string counted(const Dataset& dataset) {
  return fmt::format("{} images to train and {} to test", dataset.train->size(),
                     dataset.test->size());
}

std::string without_slash(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return std::string(folder);
}

constexpr std::uint64_t kCifarSide = 32, kCifarPixels = 3 * kCifarSide * kCifarSide;
constexpr std::uint64_t kCifarRecord = 1 + kCifarPixels;
constexpr std::int64_t kCifarClasses = 10;

ImagePart read_cifar(const FileView& file) {
  if (file.bytes.empty() || file.bytes.size() % kCifarRecord != 0)
    throw DataError(
        fmt::format("{} has {} bytes, which is not a multiple of a record's {}. Get the binary "
                    "version of CIFAR-10 again.",
                    file.path, file.bytes.size(), kCifarRecord));
  const std::uint64_t n = file.bytes.size() / kCifarRecord;
  const std::uint8_t* const records = octets(file);
  for (std::uint64_t i = 0; i < n; ++i)
    if (records[i * kCifarRecord] >= kCifarClasses)
      throw DataError(fmt::format("{}: label {} of record {} is not in 0 .. {}", file.path,
                                  records[i * kCifarRecord], i, kCifarClasses - 1));
  return {file.owner, nullptr, records + 1, kCifarRecord, records, kCifarRecord, n};
}

}  // namespace

Dataset open_fashion_mnist(std::string_view, const DatasetOptions& options,
                           const FileOpener& opener) {
  constexpr std::int64_t kClasses = 10;
  const std::string folder(kFashionFolder);
  try {
    IdxSet train = read_idx_set(folder, "train", kClasses, opener);
    IdxSet test = read_idx_set(folder, "t10k", kClasses, opener);
    const ImageSize size{1, 28, 28};
    if (train.size != size || test.size != size)
      throw DataError(fmt::format("the images in {} are not of 28 x 28 pixels", folder));
    Dataset dataset =
        image_dataset({train.part}, {test.part},
                      {size, kClasses, {{0.2860F}, {0.3530F}}, options.seed, options.augment});
    dataset.name = fmt::format("Fashion-MNIST, {}, from {}", counted(dataset), folder);
    dataset.class_names = {"T-shirt", "trouser", "pullover", "dress", "coat",
                           "sandal",  "shirt",   "sneaker",  "bag",   "ankle boot"};
    return dataset;
  } catch (const FileMissing& error) {
    throw DataError(
        fmt::format("Fashion-MNIST is not installed: {}. Debian has it: apt-get install "
                    "dataset-fashion-mnist. Elsewhere: --data idx:DIR",
                    error.what()));
  }
}

Dataset open_idx(std::string_view rest, const DatasetOptions& options, const FileOpener& opener) {
  const std::string folder = without_slash(rest);
  IdxSet train = read_idx_set(folder, "train", {}, opener);
  const std::int64_t classes = std::int64_t{train.label_max} + 1;
  if (classes < 2) throw DataError(fmt::format("all labels in {} are 0: nothing to learn", folder));
  IdxSet test = read_idx_set(folder, "t10k", classes, opener);
  if (train.size != test.size)
    throw DataError(fmt::format(
        "the images to train in {} are of {} x {} pixels, those to test of "
        "{} x {}",
        folder, train.size.height, train.size.width, test.size.height, test.size.width));
  PixelStatistics pixels = pixel_statistics({train.part}, train.size);
  Dataset dataset =
      image_dataset({train.part}, {test.part},
                    {train.size, classes, std::move(pixels), options.seed, options.augment});
  dataset.name = fmt::format("{} from {}", counted(dataset), folder);
  return dataset;
}

Dataset open_cifar10(std::string_view rest, const DatasetOptions& options,
                     const FileOpener& opener) {
  std::string folder = without_slash(rest);
  const auto part = [&](std::string_view name) {
    return read_cifar(opener(fmt::format("{}/{}.bin", folder, name)));
  };
  std::vector<ImagePart> train, test;
  try {
    test.push_back(part("test_batch"));
  } catch (const FileMissing&) {
    folder += "/cifar-10-batches-bin";  // the folder in its archive
    test.push_back(part("test_batch"));
  }
  for (int k = 1; k <= 5; ++k) train.push_back(part(fmt::format("data_batch_{}", k)));
  const PixelStatistics pixels{{0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F}};
  Dataset dataset = image_dataset(
      std::move(train), std::move(test),
      {{3, kCifarSide, kCifarSide}, kCifarClasses, pixels, options.seed, options.augment});
  dataset.name = fmt::format("CIFAR-10, {}, from {}", counted(dataset), folder);
  dataset.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                         "dog",      "frog",       "horse", "ship", "truck"};
  return dataset;
}

}  // namespace shoal
