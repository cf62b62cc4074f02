// Process: this process's part in a job. It joins, runs the node's program over shared memory and
// UCX, and runs it again as a new incarnation if the node was evicted while it was away.
//
//   Process process(process_options_from_environment());
//   process.run([](Node& node) { return worker(node); });   // the program that is also simulated
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/recorder.h"
#include "base/types.h"
#include "launch/place.h"
#include "launch/token.h"
#include "runtime/node.h"
#include "runtime/view.h"

namespace shoal {

// Which thread spins for a while, before it sleeps, when the program waits for others within a
// step. An idle core is given to other processes or clocked down, and is slower for a time
// afterwards, above all on a virtual machine (docs/benchmarks.md). The loop keeps the core that it
// shares with the computation; if it has a core of its own, only the compute thread spins.
enum class Awake { Nobody, Loop, Compute };

struct ProcessOptions {
  Place place;
  Role role = Role::Worker;
  std::string token;  // the job's secret; see launch/token.h
  // The etcd cluster with the job's state: any process may then coordinate, and be lost. Empty: the
  // process at the master address coordinates, and its loss ends the job.
  std::string etcd;
  // The coordinator at the master address is in this process: in rank 0, if the launcher has none.
  bool coordinate = false;
  std::string listen = "127.0.0.1";                      // address of all our sockets
  std::vector<std::string> transports = {"shm", "ucx"};  // in order of preference
  std::uint32_t lanes = 1;                               // UCX connections per peer and direction
  std::string folder = ".";                              // for the node's files
  Seed seed{};
  bool compute_thread = true;  // runs work(); otherwise the runtime thread does
  Awake awake = Awake::Nobody;
  bool roams = false;            // the compute thread leaves a core that has become slow
  CoordinatorOptions views;      // `expected` is set to the number of processes
  Observer* observer = nullptr;  // gets every event of the node
  bool log = true;               // log events of the job to stderr
  // Set by a signal handler to end the job. May be null.
  const std::atomic<bool>* stop = nullptr;
  // Time(0) of the node.
  std::chrono::steady_clock::time_point origin = std::chrono::steady_clock::now();
};

// The job was asked to end before this process had joined.
class NeverJoined : public Error {
 public:
  using Error::Error;
};

// The options from the environment. `secret` must live as long as the process runs.
struct FromEnvironment {
  ProcessOptions options;
  Secret secret;
};
FromEnvironment process_from_environment(const Lookup& lookup);

// Thread safety: none.
class Process {
 public:
  // Throws ConfigError: a transport that this machine lacks, a port in use.
  explicit Process(ProcessOptions options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Runs the program until it returns, in this incarnation or a later one. Rethrows its exception;
  // throws NeverJoined, and ConfigError or LinkLost if the job refuses this process or its
  // coordinator is lost for good. Call it once.
  void run(NodeProgram program);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shoal
