#include "cli/tune.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "cli/probe.h"
#include "launch/descriptor.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

// A smaller gain is noise.
constexpr double kWorthIt = 0.97;

struct Probed {
  std::string blas;
  bool channels_last = false;
  int threads = 1;
  double seconds = 0;
};

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

bool cpu_has(const std::string& flag) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("flags")) continue;
    return (line + " ").find(" " + flag + " ") != std::string::npos;
  }
  return false;
}

// The kernels that this CPU can run; the first is OpenBLAS's own choice.
std::vector<std::string> kernels(const ComputeWish& wish) {
  if (wish.blas) return {*wish.blas};
  std::vector<std::string> names{""};
  if (cpu_has("avx512f")) names.emplace_back("SKYLAKEX");
  if (cpu_has("avx2") && cpu_has("fma")) {
    names.emplace_back("HASWELL");
    names.emplace_back("ZEN");
  }
  return names;
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// Runs `shoal probe` with these kernels and reads its measurements.
std::vector<Probed> probe_kernels(const std::string& blas, const ComputeWish& wish,
                                  const ProbeTask& task, int cores, const fs::path& executable) {
  std::string command = blas.empty() ? "" : "OPENBLAS_CORETYPE=" + quoted(blas) + " ";
  command += fmt::format("{} probe --model {} --shape {} --batch {} --threads {}",
                         quoted(executable.string()), quoted(task.model),
                         quoted(to_words(task.shape)), task.batch,
                         wish.threads ? std::to_string(*wish.threads)
                                      : (cores > 1 ? fmt::format("1,{}", cores) : "1"));
  if (wish.channels_last)
    command += *wish.channels_last ? " --formats channels-last" : " --formats contiguous";
  command += " 2>/dev/null";
  std::vector<Probed> results;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (pipe == nullptr) return results;
  std::array<char, 256> line{};
  while (fgets(line.data(), static_cast<int>(line.size()), pipe.get()) != nullptr) {
    Probed p;
    p.blas = blas;
    int channels_last = 0;
    if (std::sscanf(line.data(), "probed %d %d %lf", &p.threads, &channels_last, &p.seconds) != 3)
      continue;
    p.channels_last = channels_last != 0;
    results.push_back(p);
  }
  return results;
}

std::string cache_key(const ComputeWish& wish, const ProbeTask& task, int cores) {
  const auto fixed = [](const auto& value) {
    return value ? fmt::format("{}", *value) : std::string("-");
  };
  return fmt::format("{} | {} cores | shoal {} | {} | {} | {} | {} {} {}", cpu_model(), cores,
                     SHOAL_VERSION, task.model, to_words(task.shape), task.batch, fixed(wish.blas),
                     fixed(wish.channels_last), fixed(wish.threads));
}

std::optional<ComputeChoice> kept_choice(const fs::path& cache, const std::string& key) {
  std::ifstream file(cache);
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || line.substr(0, tab) != key) continue;
    std::istringstream rest(line.substr(tab + 1));
    ComputeChoice choice;
    std::string blas;
    if (!(rest >> blas >> choice.channels_last >> choice.threads) || choice.threads < 1) continue;
    choice.blas = blas == "-" ? "" : blas;
    choice.reason = "probed before; cached in " + cache.string();
    return choice;
  }
  return {};
}

// If it cannot be written, only a few seconds are lost.
void keep_choice(const fs::path& cache, const std::string& key, const ComputeChoice& choice) {
  std::error_code ignored;
  fs::create_directories(cache.parent_path(), ignored);
  std::ofstream file(cache, std::ios::app);
  file << key << '\t' << (choice.blas.empty() ? "-" : choice.blas) << ' ' << choice.channels_last
       << ' ' << choice.threads << '\n';
}

// One of the workers that start on a host at the same time probes; the others wait and then find
// its result. A process that dies releases the lock.
Descriptor wait_for_turn(const fs::path& cache) {
  std::error_code ignored;
  fs::create_directories(cache.parent_path(), ignored);
  Descriptor turn(open((cache.string() + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  while (turn.valid() && flock(turn.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return turn;
}

ComputeChoice best_of(const std::vector<Probed>& probed, const ComputeChoice& plain) {
  const auto is_plain = [&](const Probed& p) {
    return p.blas == plain.blas && p.channels_last == plain.channels_last &&
           p.threads == plain.threads;
  };
  const auto first = std::ranges::find_if(probed, is_plain);
  const Probed* best = first == probed.end() ? &probed.front() : &*first;
  const double before = best->seconds;
  for (const Probed& p : probed)
    if (p.seconds < best->seconds && p.seconds < kWorthIt * before) best = &p;
  ComputeChoice choice{best->blas, best->channels_last, best->threads, ""};
  choice.reason = fmt::format("probed: {:.1f} ms per step, {:.1f} with libtorch's defaults",
                              1e3 * best->seconds, 1e3 * before);
  return choice;
}

}  // namespace

ComputeChoice choose_compute(const ComputeWish& wish, const ProbeTask& task, int cores,
                             const fs::path& executable, const fs::path& cache) {
  const ComputeChoice plain = plain_choice(wish, cores);
  const bool all_fixed = wish.blas && wish.channels_last && wish.threads;
  if (!wish.probe || all_fixed) return plain;
  const std::string key = cache_key(wish, task, cores);
  if (auto kept = kept_choice(cache, key)) return *kept;
  if (wish.only_kept) return plain;
  const Descriptor turn = wait_for_turn(cache);
  if (auto kept = kept_choice(cache, key)) return *kept;

  // First threads and format with the first kernels; then the other kernels with the best of these.
  std::vector<Probed> probed;
  ComputeWish fixed = wish;
  for (const std::string& blas : kernels(wish)) {
    for (const Probed& p : probe_kernels(blas, fixed, task, cores, executable)) probed.push_back(p);
    if (probed.empty()) break;
    const ComputeChoice best = best_of(probed, plain);
    fixed.threads = best.threads;
    fixed.channels_last = best.channels_last;
  }
  if (probed.empty()) {
    ComputeChoice choice = plain;
    choice.reason = "the probes failed; using libtorch's defaults";
    return choice;
  }
  const ComputeChoice choice = best_of(probed, plain);
  keep_choice(cache, key, choice);
  return choice;
}

}  // namespace shoal
