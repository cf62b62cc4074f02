// The peer of `shoal bench collective`: MPI_Allreduce out of place, as the library chooses it.
//
//   mpirun -n 2 mpi_collective 4096,4194304
//
// Rank 0 prints "result copied BYTES MICROSECONDS"; a wrong sum ends the job.
#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace {

// As in bench/collective_rank.cc.
constexpr std::uint64_t kBytesOfARun = std::uint64_t{512} << 20U;
constexpr std::uint64_t kWarmUp = 5;
constexpr std::uint64_t kPeriod = 1000;

void verify(const std::vector<float>& sum, std::uint64_t P) {
  for (std::uint64_t i = 0; i < sum.size(); ++i) {
    const float expected = static_cast<float>(P * (P + 1) / 2 * (i % kPeriod + 1));
    if (sum[i] == expected) continue;
    fmt::print(stderr, "the sum at {} is {} and not {}\n", i, sum[i], expected);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

void measure(std::uint64_t bytes, int rank, int size) {
  const std::uint64_t P = static_cast<std::uint64_t>(size);
  std::vector<float> data(bytes / sizeof(float));
  std::vector<float> sum(data.size());
  for (std::uint64_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<float>(static_cast<std::uint64_t>(rank + 1) * (i % kPeriod + 1));
  const std::uint64_t rounds =
      std::clamp<std::uint64_t>(kBytesOfARun / std::max<std::uint64_t>(bytes, 1), 8, 10000);
  const std::uint64_t warm = rounds / kWarmUp + 1;
  double begun = 0;
  for (std::uint64_t i = 0; i < warm + rounds; ++i) {
    if (i == warm) {
      MPI_Barrier(MPI_COMM_WORLD);
      begun = MPI_Wtime();
    }
    MPI_Allreduce(data.data(), sum.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  }
  const double took = MPI_Wtime() - begun;
  verify(sum, P);
  if (rank == 0)
    fmt::print("result copied {} {:.6g}\n", bytes, took / static_cast<double>(rounds) * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::istringstream sizes(argc > 1 ? argv[1] : "");
  for (std::string word; std::getline(sizes, word, ',');) measure(std::stoull(word), rank, size);
  MPI_Finalize();
  return 0;
}
