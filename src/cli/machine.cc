#include "cli/machine.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "learner/torch_loader/torch_plugin.h"
#include "transport/ucx/ucx_info.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

MachineFact ok(std::string subject, std::string value) {
  return {Finding::kOk, std::move(subject), std::move(value), {}, {}};
}
MachineFact note(std::string subject, std::string value) {
  return {Finding::kNote, std::move(subject), std::move(value), {}, {}};
}
MachineFact missing(std::string subject, std::string value, std::string remedy) {
  return {Finding::kMissing, std::move(subject), std::move(value), std::move(remedy), {}};
}

// The value of the first line "key : value"; empty if there is none.
std::string field(const fs::path& file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const auto value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return {};
}

std::string first_line(const fs::path& file) {
  std::string line;
  std::getline(std::ifstream(file) >> std::ws, line);
  return line;
}

MachineFact cpu() {
  const auto model = field("/proc/cpuinfo", "model name");
  const auto flags = " " + field("/proc/cpuinfo", "flags") + " ";
  const auto* vectors = flags.find(" avx512f ") != std::string::npos ? "AVX-512"
                        : flags.find(" avx2 ") != std::string::npos  ? "AVX2"
                                                                     : "no AVX2";
  return ok("cpu", fmt::format("{}, {} cores, {}", model.empty() ? "unknown model" : model,
                               sysconf(_SC_NPROCESSORS_ONLN), vectors));
}

double gibibytes(const std::string& kibibytes) { return std::atof(kibibytes.c_str()) / (1 << 20); }

MachineFact memory() {
  return ok("memory", fmt::format("{:.1f} GiB, {:.1f} available",
                                  gibibytes(field("/proc/meminfo", "MemTotal")),
                                  gibibytes(field("/proc/meminfo", "MemAvailable"))));
}

MachineFact huge_pages() {
  const auto mode = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const auto open = mode.find('['), close = mode.find(']');
  const auto chosen =
      close == std::string::npos ? "unknown" : mode.substr(open + 1, close - open - 1);
  return note("huge pages", fmt::format("transparent: {}; reserved: {}", chosen,
                                        field("/proc/meminfo", "HugePages_Total")));
}

MachineFact kernel() {
  utsname name{};
  uname(&name);
  return ok("kernel", fmt::format("{} {} {}", name.sysname, name.release, name.machine));
}

// Peers on one host read each other's sealed memory; the seal against writing is younger than memfd
// itself.
MachineFact shared_memory() {
  const int fd = memfd_create("shoal-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const bool sealed = fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0;
  if (fd >= 0) close(fd);
  if (sealed) return ok("memfd", "shared memory can be sealed against writing");
  return missing("memfd", "no sealed shared memory", "Linux 5.1 or newer");
}

MachineFact wake_up() {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return missing("eventfd", "refused", "a kernel or container that allows eventfd");
  close(fd);
  return ok("eventfd", "the event loop can be woken");
}

MachineFact links() {
  std::vector<std::string> found;
  std::error_code unreadable;
  for (const auto& link : fs::directory_iterator("/sys/class/net", unreadable)) {
    const auto name = link.path().filename().string();
    if (first_line(link.path() / "operstate") == "down") continue;
    // Virtual links have no speed: reading it fails, or gives -1.
    const int megabits = std::atoi(first_line(link.path() / "speed").c_str());
    found.push_back(megabits > 0 ? fmt::format("{} {} Mbit/s", name, megabits) : name);
  }
  std::ranges::sort(found);
  return note("links", fmt::format("{}", fmt::join(found, ", ")));
}

MachineFact ucx() {
  const auto info = ucx_info();
  if (!info.built_in) {
    return missing("UCX", "not built in", "apt-get install libucx-dev, then ./shoalw build");
  }
  return ok("UCX", fmt::format("{}: {}", info.version, fmt::join(info.transports, " ")));
}

MachineFact torch(const fs::path& executable) {
  try {
    const auto torch = TorchPlugin::load(plugin_directories(executable)).describe();
    auto fact = ok("libtorch",
                   fmt::format("{}, threads: {}, {}", torch.version, torch.threads, torch.blas));
    fact.details = torch.details;
    return fact;
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    const auto hint = text.rfind("\nHint: ");
    if (hint == std::string::npos) return missing("libtorch", text, {});
    return missing("libtorch", text.substr(0, hint), text.substr(hint + 7));
  }
}

// Some programs are in sbin, which is not in every user's PATH.
MachineFact program(const std::string& name, const std::string& use, const std::string& package) {
  const char* path = std::getenv("PATH");
  std::istringstream directories((path == nullptr ? "" : path) + std::string(":/usr/sbin:/sbin"));
  for (std::string directory; std::getline(directories, directory, ':');) {
    const auto file = fs::path(directory) / name;
    if (access(file.c_str(), X_OK) == 0) return ok(name, file.string());
  }
  return missing(name, "needed for " + use, "apt-get install " + package);
}

MachineFact rights() {
  if (geteuid() == 0) return ok("rights", "root: network namespaces and shaped links can be made");
  return note("rights", "not root: no network namespaces, no shaped links");
}

}  // namespace

std::vector<MachineFact> examine_machine(const fs::path& executable) {
  return {
      cpu(),
      memory(),
      huge_pages(),
      kernel(),
      shared_memory(),
      wake_up(),
      links(),
      ucx(),
      torch(executable),
      program("etcd", "clusters without a single point of failure", "etcd-server"),
      program("ip", "benchmarks between two hosts on one machine", "iproute2"),
      program("tc", "benchmarks over a slow link", "iproute2"),
      rights(),
  };
}

}  // namespace shoal
