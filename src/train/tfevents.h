// TensorBoard's event files: records of protocol buffers, each framed with its length and two
// checksums. We write only scalars, so the few fields are encoded by hand.
//
//   record  length: u64 | masked CRC32C of it: u32 | data | masked CRC32C of the data: u32
//   Event   1 wall_time: double | 2 step: int64 | 3 file_version: string | 5 summary
//   Summary 1 value (repeated): { 1 tag: string | 2 simple_value: float }
//
// tensorflow/core/lib/io/record_writer.h, util/event.proto, framework/summary.proto.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/types.h"
#include "train/streamed_file.h"

namespace shoal {

// CRC-32C (Castagnoli), as in RFC 3720 appendix B.4.
std::uint32_t crc32c(std::string_view bytes);

std::string tfrecord(std::string_view data);

struct Scalar {
  std::string tag;  // "train/loss"; TensorBoard groups by the part before the slash
  float value = 0;
};

// Wall-clock times are seconds since 1970; in simulation they are virtual.
std::string tfevents_start(double wall_s);  // the first record of a file
std::string tfevents_record(double wall_s, Step step, std::span<const Scalar> scalars);
// TensorBoard looks for "tfevents" in the name, and sorts the files of a folder by it.
std::string tfevents_name(double wall_s, std::string_view host);

class TensorBoardLog {
 public:
  // An incarnation of a node has a file of its own. `wall_start_s` is the wall-clock time at
  // Time(0).
  TensorBoardLog(Files& files, std::string_view folder, std::string_view host, double wall_start_s,
                 Time now);

  Task<void> add(Time now, Step step, std::span<const Scalar> scalars);
  Task<void> close() { return file_.close(); }
  const std::string& path() const { return file_.path(); }

 private:
  double wall_start_s_;
  StreamedFile file_;
  bool started_ = false;
};

}  // namespace shoal
