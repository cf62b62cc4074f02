// Place: which process of a job this is, as whoever started it has said in the environment.
//
//   const Place place = place_from_environment(environment_of_this_process());
//
// Understood, in this order: shoal launch, torchrun, Open MPI, MPICH and others that speak PMI,
// PMIx, Slurm, and the plain RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT. Nothing set: a job of one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace shoal {

// A variable's value; nothing when it is not set.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;
Lookup environment_of_this_process();

struct Place {
  std::uint32_t rank = 0;
  std::uint32_t world = 1;  // processes of the job
  // Among those of its host. local_world 0: the launcher does not say how many there are.
  std::uint32_t local_rank = 0;
  std::uint32_t local_world = 1;
  std::string master_addr = "127.0.0.1";  // of rank 0's host
  std::uint16_t master_port = 0;          // 0: a job of one, which nobody has to find
  std::string job = "alone";              // the same in all processes of the job, and in no other
  std::uint32_t life = 1;                 // counts how often this rank was started
  std::string source = "nothing set";     // who said so

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

// Where a job meets whose launcher names no port: 20000 to 29999, by the job's name.
std::uint16_t port_of_job(const std::string& job);

}  // namespace shoal
