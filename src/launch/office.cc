#include "launch/office.h"

#include <fmt/core.h>

#include <cstdio>

#include "base/error.h"
#include "launch/host.h"
#include "membership/coordinator.h"
#include "membership/embedded_store.h"
#include "runtime/live/live_env.h"
#include "runtime/task_group.h"
#include "transport/control/tcp_control.h"

namespace shoal {
namespace {

void say(const std::string& line) { fmt::print(stderr, "shoal: {}\n", line); }

OfficeOptions with_log(OfficeOptions office) {
  if (!office.log) office.log = say;
  return office;
}

TcpControlOptions control_options(const OfficeOptions& office) {
  TcpControlOptions control{.token = JobToken::from_hex(office.token)};
  control.listen = office.listen;
  control.port = office.port;
  control.log = office.log;
  return control;
}

}  // namespace

class JobOffice::Impl {
 public:
  Impl(LiveLoop& loop, const OfficeOptions& options)
      : loop_(&loop),
        options_(with_log(options)),
        env_(loop, {}),
        net_(loop, control_options(options_)),
        store_(env_),
        tasks_(loop.context()) {
    tasks_.spawn(hold());
  }
  ~Impl() {
    tasks_.cancel();
    run_task(*loop_, drain());
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

 private:
  Task<void> hold() {
    JobOptions job;
    job.job = options_.job;
    job.view = options_.views;
    job.view.expected = options_.world;
    job.log = options_.log;
    try {
      // Runs as long as the launcher: a restarted rank may come when all others have left, and
      // finds the job in that state.
      while (true) {
        JobOptions term = job;
        co_await coordinate(env_, net_, store_, std::move(term), this_process());
      }
    } catch (const Cancelled&) {
      throw;
    } catch (const std::exception& error) {
      options_.log(fmt::format("the coordinator has failed: {}", error.what()));
    }
  }
  Task<void> drain() { co_await tasks_.join(); }

  LiveLoop* loop_;
  OfficeOptions options_;
  LiveEnv env_;
  TcpControlNet net_;
  EmbeddedStore store_;
  TaskGroup tasks_;  // last: it uses all of the above
};

JobOffice::JobOffice(LiveLoop& loop, const OfficeOptions& options)
    : impl_(std::make_unique<Impl>(loop, options)) {}
JobOffice::~JobOffice() = default;

}  // namespace shoal
