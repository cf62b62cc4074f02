// Datasets whose files the test makes: their bytes, and an opener for them.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace shoal {

// Files by path.
class MemoryFiles {
 public:
  std::string& operator[](const std::string& path) { return files_[path]; }
  void erase(const std::string& path) { files_.erase(path); }
  FileOpener opener() const {
    return [this](const std::string& path) {
      const auto found = files_.find(path);
      if (found == files_.end()) throw FileMissing(path + ": there is no such file");
      // A copy of exactly its size, so that a sanitizer sees a read beyond it.
      auto copy = std::make_shared<std::vector<std::byte>>(found->second.size());
      std::ranges::transform(found->second, copy->begin(),
                             [](char c) { return static_cast<std::byte>(c); });
      return FileView{copy, *copy, path};
    };
  }

 private:
  std::map<std::string, std::string> files_;
};

inline std::string big_endian(std::uint32_t word) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift & 0xffU);
  return bytes;
}

inline std::string idx_images(std::uint32_t n, std::uint32_t height, std::uint32_t width,
                              const std::string& pixels) {
  return big_endian(0x803) + big_endian(n) + big_endian(height) + big_endian(width) + pixels;
}
inline std::string idx_labels(const std::string& labels) {
  return big_endian(0x801) + big_endian(static_cast<std::uint32_t>(labels.size())) + labels;
}

inline std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib");
  std::string out(deflateBound(&stream, bytes.size()) + 32, '\0');
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Three images of 2 x 3 pixels to train, two to test.
inline MemoryFiles small_idx() {
  MemoryFiles files;
  std::string pixels(18, '\0');
  std::iota(pixels.begin(), pixels.end(), '\1');
  files["d/train-images-idx3-ubyte"] = idx_images(3, 2, 3, pixels);
  files["d/train-labels-idx1-ubyte"] = idx_labels({0, 2, 1});
  files["d/t10k-images-idx3-ubyte"] = idx_images(2, 2, 3, pixels.substr(6));
  files["d/t10k-labels-idx1-ubyte"] = idx_labels({1, 1});
  return files;
}

// `n` records in each of the six files; record i of file k has label (i + k) % 10 and pixels
// k * 16 + i, + 1 in the green plane, + 2 in the blue one.
inline MemoryFiles small_cifar(int n) {
  MemoryFiles files;
  for (int k = 0; k <= 5; ++k) {
    std::string& file = files[k == 0 ? "c/test_batch.bin" : fmt::format("c/data_batch_{}.bin", k)];
    for (int i = 0; i < n; ++i) {
      file += static_cast<char>((i + k) % 10);
      for (int plane = 0; plane < 3; ++plane)
        file += std::string(1024, static_cast<char>(k * 16 + i + plane));
    }
  }
  return files;
}

// Reads a few samples of the dataset of a spec, as training would. Throws what open_dataset throws.
inline void open_and_read(const std::string& spec, const FileOpener& opener,
                          const DatasetOptions& options) {
  const Dataset dataset = open_dataset(spec, options, opener);
  for (const auto& source : {dataset.train, dataset.test}) {
    if (!source) continue;
    const std::uint64_t last = source->size() - 1;
    const std::vector<SampleId> samples{0, last / 2, last};
    Batch batch;
    source->fill(3, samples, batch);
    if (batch.n != samples.size()) std::abort();
  }
}

}  // namespace shoal
