#include "launch/launcher.h"

#include <fmt/core.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "launch/office.h"

namespace shoal {
namespace {

OfficeOptions office_of(const JobPlan& plan, const CoordinatorOptions& views) {
  OfficeOptions office;
  office.job = plan.name;
  office.token = plan.token;
  office.listen = plan.master_addr;
  office.port = plan.master_port;
  office.world = plan.world;
  office.views = views;
  office.views.minimum = plan.minimum;
  return office;
}

}  // namespace

int run_job(LaunchOptions options, CoordinatorOptions views) {
  LiveLoop loop;
  Output output(loop, STDOUT_FILENO, STDERR_FILENO);
  Job job(loop, output, std::move(options));
  std::optional<JobOffice> office;  // exists before the first process looks for it
  if (job.plan().office) {
    OfficeOptions o = office_of(job.plan(), views);
    o.log = [&](const std::string& line) { job.tell("shoal: " + line); };
    office.emplace(loop, o);
  }
  job.start();
  loop.run();
  return job.status();
}

}  // namespace shoal
