#include "runtime/live/loop.h"

#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

// A turn ends after this many resumptions, so that coroutines which keep each other ready starve
// neither timers nor messages.
constexpr int kResumptionsPerTurn = 512;
// A busy loop polls its descriptors every so many turns; a sleeping one at once.
constexpr std::uint64_t kTurnsPerLook = 64;
// In dense traffic it reads the clock every so many turns.
constexpr int kTurnsPerClock = 4;
// Checks for stalls per reporting time.
constexpr int kLooksPerStall = 5;
// A shorter sleep than this should have been a spin.
constexpr Duration kShortSleep = std::chrono::microseconds(250);
constexpr Duration kLongSleep = std::chrono::microseconds(1000);
constexpr int kSpinTimesMax = 16;
// Polls per turn that only spins: reading the clock takes as long as a few of them.
constexpr int kPollsPerSpin = 8;
// A nap is a small part of the transfer that it may delay; below the minimum, sleeping is as good.
constexpr int kNapsPerTransfer = 8;
constexpr Duration kShortestNap = std::chrono::milliseconds(1);
constexpr Duration kLongestNap = std::chrono::milliseconds(4);

int checked(int result, const char* call) {
  SHOAL_CHECK(result >= 0, "{}: {}", call, std::strerror(errno));
  return result;
}

void tell_epoll(int epoll, int operation, int descriptor, Readiness interest) {
  epoll_event event{};
  event.events = (interest.readable ? EPOLLIN : 0U) | (interest.writable ? EPOLLOUT : 0U);
  event.data.fd = descriptor;
  checked(epoll_ctl(epoll, operation, descriptor, &event), "epoll_ctl");
}

Readiness readiness_of(std::uint32_t events) {
  const bool broken = (events & (EPOLLERR | EPOLLHUP)) != 0;
  return {.readable = broken || (events & EPOLLIN) != 0,
          .writable = broken || (events & EPOLLOUT) != 0};
}

void drain(int descriptor) {
  std::uint64_t count = 0;
  // An empty descriptor is fine: it only wakes us, and the work is found elsewhere.
  [[maybe_unused]] const ssize_t n = read(descriptor, &count, sizeof count);
}

void print_stall(const std::vector<std::string>& waiting) {
  for (const std::string& line : waiting) fmt::print(stderr, "stalled: {}\n", line);
}

}  // namespace

LiveLoop::LiveLoop(LoopOptions options) : options_(options), stall_hook_(print_stall) {
  epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  event_ = checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
  alarm_ = checked(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create");
  tell_epoll(epoll_, EPOLL_CTL_ADD, event_, {.readable = true});
  tell_epoll(epoll_, EPOLL_CTL_ADD, alarm_, {.readable = true});
}

LiveLoop::~LiveLoop() {
  for (const int descriptor : signals_) close(descriptor);
  close(alarm_);
  close(event_);
  close(epoll_);
}

Time LiveLoop::now() const {
  return Time(
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - options_.origin));
}

void LiveLoop::inject(Function function) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    injected_.push_back(std::move(function));
    any_injected_.store(true, std::memory_order_release);
    wake = std::exchange(asleep_, false);
    if (wake) ++wake_ups_;
  }
  if (!wake) return;
  const std::uint64_t one = 1;
  SHOAL_CHECK(write(event_, &one, sizeof one) == sizeof one, "eventfd: {}", std::strerror(errno));
}

void LiveLoop::stop() {
  inject([this] { stopping_ = true; });
}

std::uint64_t LiveLoop::wake_ups() const {
  const std::lock_guard lock(mutex_);
  return wake_ups_;
}

void LiveLoop::run() {
  while (!stopping_) turn();
  stopping_ = false;
}

void LiveLoop::turn() {
  ++turns_;
  const bool brief = std::exchange(traffic_, false) && deferred_.empty();
  brief_turns_ = brief ? (brief_turns_ + 1) % kTurnsPerClock : 0;
  if (brief_turns_ == 0) turn_time_ = now();
  spin_until_ = std::max(spin_until_, turn_time_ + std::exchange(spin_for_, Duration::zero()));
  if (!watched_.empty() && turns_ % kTurnsPerLook == 0) wait(0);
  run_injected();
  run_deferred();
  fire_timers();
  for (int i = 0; i < kResumptionsPerTurn && executor_.run_one();) ++i;
  if (stopping_) return flush();
  if (napping()) return has_work() ? flush() : nap();
  if (poll() || has_work() || spin()) return;
  if (const Duration most = nap_time(); most > Duration::zero()) {
    nap_until_ = turn_time_ + most;
    return nap();
  }
  sleep();
}

void LiveLoop::run_injected() {
  if (!any_injected_.load(std::memory_order_acquire)) return;
  {
    const std::lock_guard lock(mutex_);
    running_.swap(injected_);
    any_injected_.store(false, std::memory_order_relaxed);
  }
  if (options_.awake > Duration::zero()) spin_until_ = turn_time_ + options_.awake;
  for (Function& function : running_) {
    function();
    function = nullptr;  // a later function may wait for what it held
  }
  running_.clear();
}

void LiveLoop::defer(Function function) { deferred_.push_back(std::move(function)); }

void LiveLoop::run_deferred() {
  // Only functions deferred before this turn; those that they defer run in the next.
  running_.swap(deferred_);
  for (Function& function : running_) function();
  running_.clear();
}

LiveLoop::Timer LiveLoop::at(Time time, Function function) {
  const auto [it, inserted] =
      timers_.emplace(TimerKey{time, timer_sequence_++}, std::move(function));
  SHOAL_CHECK(inserted);
  return &it->first;
}

void LiveLoop::cancel(Timer timer) {
  const auto it = timers_.find(*timer);
  SHOAL_CHECK(it != timers_.end(), "a timer was cancelled after it had fired");
  timers_.erase(it);
}

void LiveLoop::fire_timers() {
  if (timers_.empty()) return;
  // A timer that sets another one at once must not keep the loop here.
  const std::uint64_t set_before = timer_sequence_;
  while (!timers_.empty()) {
    const auto first = timers_.begin();
    if (first->first.at > turn_time_ || first->first.sequence >= set_before) return;
    const auto node = timers_.extract(first);
    node.mapped()();
  }
}

bool LiveLoop::has_work() {
  return !executor_.idle() || !deferred_.empty() || any_injected_.load(std::memory_order_acquire);
}

bool LiveLoop::poll() {
  bool any = false;
  // By index: a poller's callback may add or remove pollers.
  for (std::size_t i = 0; i < pollers_.size(); ++i) {
    const Polled polled = pollers_[i];
    if (polled.poller == nullptr || !polled.poller->poll()) continue;
    any = true;
    const int times = pollers_[i].poller == nullptr ? 1 : spin_times(*polled.poller);
    spin_for_ = std::max(spin_for_, polled.spin * times);
  }
  std::erase_if(pollers_, [](const Polled& p) { return p.poller == nullptr; });
  traffic_ |= any;
  return any;
}

void LiveLoop::flush() {
  for (const Polled& p : pollers_)
    if (p.poller != nullptr) p.poller->flush();
}

bool LiveLoop::arm() {
  return std::ranges::all_of(
      pollers_, [](const Polled& p) { return p.poller == nullptr || p.poller->arm(); });
}

int LiveLoop::spin_times(const Poller& poller) const {
  return poller.ahead() > Duration::zero() ? kSpinTimesMax : spin_times_;
}

bool LiveLoop::spin() {
  if (pollers_.empty() || turn_time_ >= spin_until_) return false;
  if (away_.load(std::memory_order_relaxed) > 0) return false;
  for (int i = 0; i < kPollsPerSpin && !poll() && !has_work();) ++i;
  return true;
}

void LiveLoop::judge_sleep(Duration slept) {
  if (slept < kShortSleep) {
    spin_times_ = std::min(2 * spin_times_, kSpinTimesMax);
  } else if (slept > kLongSleep) {
    spin_times_ = std::max(spin_times_ / 2, 1);
  }
}

void LiveLoop::sleep() {
  arm_stall_check();
  if (!arm()) return;
  if (!timers_.empty() && timers_.begin()->first.at <= now()) return;
  set_alarm();
  if (!fall_asleep()) return;
  ++sleeps_;
  const Time since = now();
  wait(-1);
  if (!pollers_.empty()) judge_sleep(now() - since);
  wake();
}

bool LiveLoop::fall_asleep() {
  const std::lock_guard lock(mutex_);
  if (!injected_.empty()) return false;
  asleep_ = true;
  return true;
}

void LiveLoop::wake() {
  const std::lock_guard lock(mutex_);
  asleep_ = false;
}

Duration LiveLoop::nap_time() const {
  if (away_.load(std::memory_order_relaxed) == 0) return Duration::zero();
  Duration ahead = Duration::zero();
  for (const Polled& p : pollers_)
    if (p.poller != nullptr) ahead = std::max(ahead, p.poller->ahead());
  const Duration most = std::min(ahead / kNapsPerTransfer, kLongestNap);
  if (most < kShortestNap) return Duration::zero();
  if (timers_.empty()) return most;
  return std::clamp(timers_.begin()->first.at - turn_time_, Duration(1), most);
}

// Injected functions still run during a nap, but do not look at the transfer; the end of the work
// ends the nap.
bool LiveLoop::napping() const {
  return turn_time_ < nap_until_ && away_.load(std::memory_order_relaxed) > 0;
}

// Other descriptors are polled after the nap.
void LiveLoop::nap() {
  flush();
  const Duration left = nap_until_ - now();
  if (left <= Duration::zero() || !fall_asleep()) return;
  ++naps_;
  pollfd event{event_, POLLIN, 0};
  const timespec time{0, std::chrono::nanoseconds(left).count()};
  const int n = ppoll(&event, 1, &time, nullptr);
  if (n < 0 && errno != EINTR) checked(n, "ppoll");
  wake();
  if (n > 0) {
    drain(event_);
  } else {
    wait(0);
  }
}

void LiveLoop::set_alarm() {
  const Time next = timers_.empty() ? Time::max() : timers_.begin()->first.at;
  if (next == alarm_at_) return;
  alarm_at_ = next;
  itimerspec spec{};  // all zero disarms
  if (next != Time::max()) {
    // Absolute, so that the time between reading the clock and sleeping does not add up.
    const auto at = options_.origin.time_since_epoch() + next.time_since_epoch();
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(at);
    spec.it_value.tv_sec = whole.count();
    spec.it_value.tv_nsec = std::chrono::nanoseconds(at - whole).count();
  }
  checked(timerfd_settime(alarm_, TFD_TIMER_ABSTIME, &spec, nullptr), "timerfd_settime");
}

void LiveLoop::wait(int timeout_ms) {
  std::array<epoll_event, 32> events;
  const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout_ms);
  if (timeout_ms != 0) turn_time_ = now();
  if (n < 0 && errno == EINTR) return;
  checked(n, "epoll_wait");
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const int descriptor = event.data.fd;
    if (descriptor == event_) {
      drain(event_);
    } else if (descriptor == alarm_) {
      drain(alarm_);
      alarm_at_ = Time::max();  // it has fired and is disarmed
    } else if (const auto it = watched_.find(descriptor); it != watched_.end()) {
      const std::shared_ptr<ReadyFunction> ready = it->second;  // it may unwatch itself
      (*ready)(readiness_of(event.events));
    }
  }
}

void LiveLoop::watch(int descriptor, Function readable) {
  watch(descriptor, {.readable = true},
        [readable = std::move(readable)](Readiness /*ready*/) { readable(); });
}

void LiveLoop::watch(int descriptor, Readiness interest, ReadyFunction ready) {
  const bool inserted =
      watched_.emplace(descriptor, std::make_shared<ReadyFunction>(std::move(ready))).second;
  SHOAL_CHECK(inserted, "descriptor {} is watched twice", descriptor);
  tell_epoll(epoll_, EPOLL_CTL_ADD, descriptor, interest);
}

void LiveLoop::rewatch(int descriptor, Readiness interest) {
  SHOAL_CHECK(watched_.contains(descriptor), "descriptor {} is not watched", descriptor);
  tell_epoll(epoll_, EPOLL_CTL_MOD, descriptor, interest);
}

void LiveLoop::unwatch(int descriptor) {
  SHOAL_CHECK_EQ(watched_.erase(descriptor), 1U, "descriptor {} is not watched", descriptor);
  checked(epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr), "epoll_ctl");
}

void LiveLoop::watch_signal(int signal, Function received) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  SHOAL_CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  const int descriptor = checked(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
  signals_.push_back(descriptor);
  watch(descriptor, [descriptor, received = std::move(received)] {
    signalfd_siginfo info{};
    while (read(descriptor, &info, sizeof info) == sizeof info) received();
  });
}

void LiveLoop::add_poller(Poller& poller, Duration spin) { pollers_.push_back({&poller, spin}); }

void LiveLoop::remove_poller(Poller& poller) {
  for (Polled& p : pollers_)
    if (p.poller == &poller) p.poller = nullptr;
}

void LiveLoop::add_stall_source(StallSource& source) {
  stall_sources_.push_back({&source, source.progress(), now(), false});
}

void LiveLoop::remove_stall_source(StallSource& source) {
  std::erase_if(stall_sources_, [&](const Watched& w) { return w.source == &source; });
}

void LiveLoop::arm_stall_check() {
  if (stall_check_ != nullptr) return;
  for (const Watched& w : stall_sources_) {
    const bool news = !w.reported || w.source->progress() != w.progress;
    if (!news || !w.source->pending()) continue;
    stall_check_ = at(now() + options_.stall_after / kLooksPerStall, [this] { check_stalls(); });
    return;
  }
}

void LiveLoop::check_stalls() {
  stall_check_ = nullptr;
  // A stall is seen up to one check late, so it is reported no later than stall_after.
  const Duration reported_after = options_.stall_after - options_.stall_after / kLooksPerStall;
  std::vector<std::string> waiting;
  for (Watched& w : stall_sources_) {
    if (w.source->progress() != w.progress) {
      w = {w.source, w.source->progress(), now(), false};
    } else if (w.source->pending() && !w.reported && now() - w.since >= reported_after) {
      w.reported = true;
      for (const std::string& line : w.source->waiting())
        waiting.push_back(fmt::format("for {:.1f} s: {}", seconds(now() - w.since), line));
    }
  }
  if (!waiting.empty()) stall_hook_(waiting);
}

void run_task(LiveLoop& loop, Task<void> task) {
  std::exception_ptr error;
  const auto then_stop = [](Task<void> inner, LiveLoop& l, std::exception_ptr& e) -> Task<void> {
    try {
      co_await std::move(inner);
    } catch (...) {
      e = std::current_exception();
    }
    l.stop();
  };
  TaskGroup group(loop.context());
  group.spawn(then_stop(std::move(task), loop, error));
  while (group.running() > 0) loop.run();
  if (error) std::rethrow_exception(error);
}

}  // namespace shoal
