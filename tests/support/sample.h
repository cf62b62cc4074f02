// The part of a long sweep that this run takes. Under sanitizers a sweep takes ten times as long:
// there ./shoalw sets SHOAL_SAMPLE=K/M, and each sweep takes every M-th of its cases, beginning
// with case K. K comes from the commit's hash, so that all cases run as commits go by. Without the
// variable, as in release, all of them run.
//
//   Sample sample;
//   for (std::uint32_t P = 1; P <= 17; ++P) {
//     if (!sample.takes_next()) continue;
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/parse.h"

namespace shoal {

class Sample {
 public:
  Sample() : Sample(environment()) {}

  // `share` is "K/M" with K < M, or "" for all cases. Throws ConfigError.
  explicit Sample(std::string_view share) {
    if (share.empty()) return;
    const std::size_t slash = share.find('/');
    if (slash == std::string_view::npos)
      throw ConfigError("SHOAL_SAMPLE: expected K/M, such as 2/4");
    const auto number = [](std::string_view text, std::uint64_t least, std::uint64_t most) {
      return require_number<std::uint64_t>("SHOAL_SAMPLE", text, "K/M with K < M, such as 2/4",
                                           {least, most});
    };
    of_ = number(share.substr(slash + 1), 1, 1000);
    share_ = number(share.substr(0, slash), 0, of_ - 1);
  }

  // Whether the next case of the sweep runs.
  bool takes_next() { return next_++ % of_ == share_; }

  // Cases that follow each other, such as seeds: from `begin` to before `end`.
  struct Block {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t size() const { return end - begin; }
  };
  Block block_of(std::uint64_t cases) const {
    return {cases * share_ / of_, cases * (share_ + 1) / of_};
  }

  // Whether all cases run: what only all of them together show is expected only then.
  bool whole() const { return of_ == 1; }

 private:
  static std::string_view environment() {
    const char* const share = std::getenv("SHOAL_SAMPLE");
    return share == nullptr ? "" : share;
  }

  std::uint64_t next_ = 0;
  std::uint64_t share_ = 0;
  std::uint64_t of_ = 1;
};

}  // namespace shoal
