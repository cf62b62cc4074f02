// Place: the rank of this process in its job, from the environment that its launcher has set.
//
//   const Place place = place_from_environment(environment_of_this_process());
//
// Supported, in this order: shoal launch, torchrun, Open MPI, MPICH and others that speak PMI,
// PMIx, Slurm, and the plain RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT. If nothing is set, the job
// has one process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace shoal {

// Returns a variable's value, or nothing if it is not set.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;
Lookup environment_of_this_process();

struct Place {
  std::uint32_t rank = 0;
  std::uint32_t world = 1;  // processes of the job
  // Within the host. local_world 0: the launcher does not give their number.
  std::uint32_t local_rank = 0;
  std::uint32_t local_world = 1;
  std::string master_addr = "127.0.0.1";  // of rank 0's host
  std::uint16_t master_port = 0;          // 0: a job of one process
  std::string job = "alone";              // the same in all processes of the job, and in no other
                                          // job
  std::uint32_t life = 1;                 // counts the starts of this rank
  std::string source = "nothing set";     // the launcher

  bool one_host() const { return local_world == world; }
  bool operator==(const Place&) const = default;
};

// Pure. Throws ConfigError, which names variables and values, for what contradicts itself or lacks
// something. Slurm describes where mpirun, torchrun or shoal launch were started, so it may differ
// from them; any two others must agree.
Place place_from_environment(const Lookup& lookup);

// {"rank":0,...} on one line.
std::string to_json(const Place& place);

// The first host of a Slurm list: "node[03-07,12],login" gives "node03". Throws ConfigError.
std::string first_host(const std::string& nodelist);

// The port of a job whose launcher gives none: 20000 to 29999, derived from the job's name.
std::uint16_t port_of_job(const std::string& job);

}  // namespace shoal
