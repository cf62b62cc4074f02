#include "codec/zstd.h"

#include <zstd.h>

#include "codec/bytes.h"

namespace shoal {
namespace {

constexpr int kLevel = 1;  // as fast as it goes

class Zstd final : public Codec {
 public:
  explicit Zstd(std::unique_ptr<Codec> inner) : inner_(std::move(inner)) {}
  std::size_t bound(std::size_t n) const override { return ZSTD_compressBound(inner_->bound(n)); }
  // The compression of gradients is unknown; it gains little after the codec.
  std::size_t expected(std::size_t n) const override { return inner_->expected(n); }
  bool sparse() const override { return inner_->sparse(); }
  bool unbiased() const override { return inner_->unbiased(); }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey& key) const override {
    require_room(*this, source, out);
    std::vector<std::byte> plain(inner_->bound(source.values.size()));
    return compress(std::span(plain).first(inner_->encode(source, plain, key)), out);
  }
  std::size_t encode_with_residual(const Source& source, std::span<float> residual,
                                   std::span<std::byte> out, const DrawKey& key) const override {
    require_room(*this, source, out);
    std::vector<std::byte> plain(inner_->bound(source.values.size()));
    const std::size_t size = inner_->encode_with_residual(source, residual, plain, key);
    return compress(std::span(plain).first(size), out);
  }
  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    inner_->decode_add(expand(in, sum.size()), sum, scale);
  }
  void decode_list(std::span<const std::byte> in, std::size_t n, SparseList& list) const override {
    inner_->decode_list(expand(in, n), n, list);
  }

 private:
  static std::size_t compress(std::span<const std::byte> plain, std::span<std::byte> out) {
    const std::size_t size =
        ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), kLevel);
    SHOAL_CHECK(ZSTD_isError(size) == 0, "zstd: {}", ZSTD_getErrorName(size));
    return size;
  }

  // Never more than the inner codec may have written, whatever the bytes claim.
  std::vector<std::byte> expand(std::span<const std::byte> in, std::size_t n) const {
    std::vector<std::byte> plain(inner_->bound(n));
    const std::size_t size = ZSTD_decompress(plain.data(), plain.size(), in.data(), in.size());
    if (ZSTD_isError(size) != 0) Reader(in, "zstd").corrupt(ZSTD_getErrorName(size));
    plain.resize(size);
    return plain;
  }

  std::unique_ptr<Codec> inner_;
};

}  // namespace

std::unique_ptr<Codec> make_zstd(std::unique_ptr<Codec> inner) {
  return std::make_unique<Zstd>(std::move(inner));
}

}  // namespace shoal
