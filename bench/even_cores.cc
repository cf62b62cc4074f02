#include "bench/even_cores.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>

#include "base/check.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSeconds = 1;
constexpr int kPiecesMin = 8;
constexpr double kBurnt = 96;

// As many numbers as fit in registers and keep all units busy; they converge to 2.
double burn(std::uint64_t turns) {
  std::array<float, 48> x{};
  for (std::uint64_t i = 0; i < turns; ++i)
    for (float& v : x) v = v * 0.5F + 1.0F;
  return std::accumulate(x.begin(), x.end(), 0.0);
}

double took(std::uint64_t turns) {
  const Clock::time_point begin = Clock::now();
  SHOAL_CHECK_EQ(burn(turns), kBurnt);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::uint64_t turns_in(double s) {
  constexpr std::uint64_t kTurns = 1 << 20;
  double best = took(kTurns);
  for (int i = 0; i < 10; ++i) best = std::min(best, took(kTurns));
  return static_cast<std::uint64_t>(s / best * kTurns) + 64;
}

}  // namespace

double kept_if_met(const Pieces& pieces) {
  std::size_t n = pieces[0].size();
  for (const std::vector<double>& own : pieces) n = std::min(n, own.size());
  SHOAL_CHECK_GT(n, 0U);
  double apart = 0, slowest_s = 0;
  for (const std::vector<double>& own : pieces)
    apart += static_cast<double>(own.size()) / std::accumulate(own.begin(), own.end(), 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    double slowest = 0;
    for (const std::vector<double>& own : pieces) slowest = std::max(slowest, own[k]);
    slowest_s += slowest;
  }
  return static_cast<double>(pieces.size() * n) / slowest_s / apart;
}

Pieces pieces_of_arithmetic(int threads, double piece_s) {
  const std::uint64_t turns = turns_in(piece_s);
  const int each = std::max(kPiecesMin, static_cast<int>(kSeconds / piece_s));
  std::barrier begin(threads);
  std::atomic<int> ended = 0;
  Pieces pieces(static_cast<std::size_t>(threads));
  {
    std::vector<std::jthread> all;
    for (std::vector<double>& own : pieces)
      all.emplace_back([&] {
        begin.arrive_and_wait();
        for (int i = 0; i < each; ++i) own.push_back(took(turns));
        ++ended;
        while (ended < threads) took(turns / 64 + 64);  // Keep the other threads company.
      });
  }
  return pieces;
}

}  // namespace shoal
