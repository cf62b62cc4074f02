// libFuzzer: parse_safetensors accepts any input or throws Corrupt or DataError naming the file; an
// accepted file, written again, reads the same. Built with clang only.
//
//   build/clang/tests/safetensors_fuzz -max_total_time=60
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "checkpoint/safetensors.h"

namespace {

using namespace shoal;

void require(bool condition) {
  if (!condition) std::abort();
}

void parse(std::span<const std::byte> bytes) {
  try {
    const SafetensorsView view = parse_safetensors(bytes, "f");
    std::vector<TensorInfo> infos;
    std::string data;
    for (const SafeTensor& t : view.tensors) {
      infos.push_back(t.info);
      data.append(reinterpret_cast<const char*>(t.data.data()), t.data.size());
    }
    const std::string again = safetensors_header(infos, view.metadata) + data;
    const SafetensorsView second = parse_safetensors(std::as_bytes(std::span(again)), "f");
    require(second.metadata == view.metadata && second.tensors.size() == infos.size());
    for (std::size_t i = 0; i < infos.size(); ++i) require(second.tensors[i].info == infos[i]);
  } catch (const Corrupt& error) {
    require(std::string_view(error.what()).starts_with("f"));
  } catch (const DataError& error) {
    require(std::string_view(error.what()).starts_with("f"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span input(reinterpret_cast<const std::byte*>(data), size);
  parse(input);
  // The input as a header of the right length, so that the JSON parser is reached; its first byte
  // tells how much of the input is data.
  if (size == 0) return 0;
  const std::size_t tail = std::min<std::size_t>(data[0], size - 1);
  std::vector<std::byte> file(8);
  file[0] = static_cast<std::byte>((size - 1 - tail) & 0xffU);
  file[1] = static_cast<std::byte>((size - 1 - tail) >> 8U);
  file.insert(file.end(), input.begin() + 1, input.end());
  if (size < 65536) parse(file);
  return 0;
}
