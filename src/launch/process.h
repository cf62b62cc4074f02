// Process: this process's part in a job of many. It joins, runs the node's program over shared
// memory and UCX, and when the node was evicted while it was away runs it again, as a new life.
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

// Who looks for work or messages for a while, before it sleeps, when the program waits for others
// in the middle of a step. A core that idles there is given to somebody else, or clocked down, and
// is slower for a time when it comes back, above all that of a virtual machine
// (docs/benchmarks.md). The loop keeps the core that it shares with what computes; where it has one
// of its own, only the compute thread does.
enum class Awake { Nobody, Loop, Compute };

struct ProcessOptions {
  Place place;
  Role role = Role::Worker;
  std::string token;  // the job's secret; see launch/token.h
  // The etcd cluster that keeps the job's state: any process may then coordinate, and be lost.
  // Empty: whoever listens at the master address does, and its loss ends the job.
  std::string etcd;
  // The coordinator at the master address is in this process: rank 0, where the launcher has none.
  bool coordinate = false;
  std::string listen = "127.0.0.1";                      // of all our sockets
  std::vector<std::string> transports = {"shm", "ucx"};  // in the order of preference
  std::uint32_t lanes = 1;   // connections per peer and direction, of UCX
  std::string folder = ".";  // of the node's files
  Seed seed{};
  bool compute_thread = true;  // for work(); else the runtime thread does it
  Awake awake = Awake::Nobody;
  bool roams = false;            // the compute thread leaves a core that has become slow
  CoordinatorOptions views;      // expected is set to the number of processes
  Observer* observer = nullptr;  // sees every event of the node
  bool log = true;               // what happens to the job, to stderr
  // Set by a signal handler: asks that the job ends. May be null.
  const std::atomic<bool>* stop = nullptr;
  // Time(0) of the node.
  std::chrono::steady_clock::time_point origin = std::chrono::steady_clock::now();
};

// It was asked to end before it had joined.
class NeverJoined : public Error {
 public:
  using Error::Error;
};

// From the environment of whoever started this process. `secret` holds what must live as long as
// the process runs.
struct FromEnvironment {
  ProcessOptions options;
  Secret secret;
};
FromEnvironment process_from_environment(const Lookup& lookup);

// Thread safety: none.
class Process {
 public:
  // Throws ConfigError: a transport that this machine has not, a port in use.
  explicit Process(ProcessOptions options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Until the program has returned, in this life or a later one; throws what it throws,
  // NeverJoined, and ConfigError or LinkLost when the job will not have this process, or its
  // coordinator is gone for good. Once.
  void run(NodeProgram program);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shoal
