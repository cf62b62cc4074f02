#include "sim/cpu.h"

#include <algorithm>
#include <cmath>

#include "sim/world.h"

namespace shoal {
namespace {

// Links never take all cores of a host: the kernel schedules other work as well.
constexpr double kLeast = 0.1;

Duration scaled(Duration d, double factor) {
  return factor == 1 ? d
                     : Duration(static_cast<Duration::rep>(
                           std::ceil(static_cast<double>(d.count()) * factor)));
}

}  // namespace

CpuLine& NodeLines::line_of(const WorkOp& op) {
  if (one_thread_) return lines_[0];
  if (op.aside()) return lines_[1];
  return lines_[op.kind() == Work::Io ? 2 : 0];
}

Cpu::Cpu(World& world, unsigned cores, double slow_)
    : slow(slow_), world_(&world), cores_(std::max(1U, cores)) {}

void Cpu::start(CpuLine& line, CpuJob& job, Duration cost) {
  job.line = &line;
  job.cost_ = slow == 1 ? cost : from_seconds(seconds(cost) * slow);
  job.number_ = jobs_++;
  line.jobs_.push_back(&job);
  if (line.jobs_.size() > 1) return;
  run(job);
  share();
  await_next();
}

void Cpu::run(CpuJob& job) {
  job.end_ = world_->now() + scaled(job.cost_, 1 / rate_);
  running_.push_back(&job);
}

void Cpu::revoke(CpuJob& job) {
  CpuLine& line = *std::exchange(job.line, nullptr);
  const bool ran = line.jobs_.front() == &job;
  std::erase(line.jobs_, &job);
  if (!ran) return;
  std::erase(running_, &job);
  if (!line.jobs_.empty()) run(*line.jobs_.front());
  share();
  await_next();
}

void Cpu::add_load(double cores) {
  load_ = std::max(0.0, load_ + cores);
  share();
  await_next();
}

// Recomputes the rate; the remaining time of each piece changes with it.
void Cpu::share() {
  const double free = std::max(static_cast<double>(cores_) - load_, kLeast * cores_);
  const double rate =
      running_.empty() ? 1 : std::min(1.0, free / static_cast<double>(running_.size()));
  if (rate == rate_) return;
  const Time now = world_->now();
  for (CpuJob* job : running_) job->end_ = now + scaled(job->end_ - now, rate_ / rate);
  rate_ = rate;
}

void Cpu::await_next() {
  const auto next = std::ranges::min_element(running_, {}, &CpuJob::end_);
  if (tick_ != nullptr && next != running_.end() && (*next)->end_ == tick_at_) return;
  if (tick_ != nullptr) {
    tick_->called_off = true;
    world_->queue().note_called_off();
    tick_ = nullptr;
  }
  if (next == running_.end()) return;
  tick_ = &world_->ticks().take();
  tick_->world = world_;
  tick_->cpu = this;
  tick_->called_off = false;
  tick_at_ = (*next)->end_;
  world_->queue().schedule(tick_at_, *tick_);
}

void Cpu::look() {
  tick_ = nullptr;
  const Time now = world_->now();
  std::vector<CpuJob*> ended;
  for (CpuJob* job : running_)
    if (job->end_ <= now) ended.push_back(job);
  std::ranges::sort(ended, {}, &CpuJob::number_);
  for (CpuJob* job : ended) {
    std::erase(running_, job);
    CpuLine& line = *std::exchange(job->line, nullptr);
    line.jobs_.erase(line.jobs_.begin());
    if (!line.jobs_.empty()) run(*line.jobs_.front());
  }
  share();
  await_next();
  for (CpuJob* job : ended) world_->dispatch(*job);
}

void Cpu::Tick::happen() {
  Cpu& c = *cpu;
  world->ticks().give_back(*this);
  c.look();
}

void Cpu::Tick::discard() { world->ticks().give_back(*this); }

}  // namespace shoal
