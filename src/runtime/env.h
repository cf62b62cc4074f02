// Env: a node's clock, timers, random numbers, computation and records. One of the four interfaces
// of the seam; see docs/architecture.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/names.h"
#include "base/random.h"
#include "base/recorder.h"
#include "base/types.h"
#include "runtime/lane.h"
#include "runtime/operation.h"

namespace shoal {

// The kind of a loop over elements, which determines its cost and when it may run. Reduce, Encode
// and Decode work on data in exchange, which no other work touches meanwhile, so they run beside a
// gradient. All other work runs in order, one piece after the other; so do these three among
// themselves. Work of another kind may run with these three if it is submitted *aside*: it must not
// touch anything that a gradient reads then.
enum class Work : std::uint8_t { Forward, Backward, Reduce, Update, Encode, Decode, Copy, Io };
inline constexpr std::size_t kWorkKinds = count_up_to(Work::Io);
std::string_view to_string(Work kind);

class Env;

class [[nodiscard]] SleepOp final : public Operation {
 public:
  using Result = void;
  SleepOp(Env& env, Duration duration) : env_(&env), duration_(duration) {}
  SleepOp(SleepOp&&) = default;
  ~SleepOp() override { detach(); }
  void await_resume() { rethrow(); }

  Duration duration() const { return duration_; }
  void fire() { complete(); }  // for the Env
  void* timer = nullptr;       // for the Env

 private:
  void start() override;
  bool abort() override;
  Env* env_;
  Duration duration_;
};

// Whether a function on another thread is still wanted. A long function asks now and then, and
// throws Cancelled if not.
using Wanted = std::function<bool()>;

class WorkOp : public Operation {
 public:
  using Result = void;
  WorkOp(Env& env, Work kind, Elements n, bool aside = false)
      : env_(&env), kind_(kind), n_(n), aside_(aside) {}
  WorkOp(WorkOp&& o) noexcept
      : Operation(std::move(o)), env_(o.env_), kind_(o.kind_), n_(o.n_), aside_(o.aside_) {}
  void await_resume() { rethrow(); }

  Work kind() const { return kind_; }
  Elements n() const { return n_; }
  // It runs beside a gradient.
  bool aside() const {
    return aside_ || kind_ == Work::Reduce || kind_ == Work::Encode || kind_ == Work::Decode;
  }
  // For the Env.
  virtual void run() = 0;
  void done() { complete(); }
  void failed_with(std::exception_ptr error) { fail(std::move(error)); }
  void* timer = nullptr;

 protected:
  void start() override;
  bool abort() override;
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }

 private:
  Env* env_;
  Work kind_;
  Elements n_;
  bool aside_;
  std::atomic<bool> wanted_ = true;
};

template <class F>
class [[nodiscard]] WorkOf final : public WorkOp {
 public:
  WorkOf(Env& env, Work kind, Elements n, bool aside, F f)
      : WorkOp(env, kind, n, aside), f_(std::move(f)) {}
  WorkOf(WorkOf&&) noexcept = default;
  ~WorkOf() override { detach(); }
  void run() override {
    if constexpr (std::is_invocable_v<F&, const Wanted&>) {
      f_([this] { return wanted(); });
    } else {
      f_();
    }
  }

 private:
  F f_;
};

class Env {
 public:
  virtual ~Env() = default;

  virtual Time now() const = 0;
  SleepOp sleep(Duration d) { return {*this, d}; }

  // Every loop over elements goes through here. Live: runs f on the compute thread or inline, by
  // policy; simulated: runs f, then sleeps for its cost; timing-only: only sleeps.
  template <class F>
  WorkOf<F> work(Work kind, Elements n, F f) {
    return WorkOf<F>(*this, kind, n, false, std::move(f));
  }
  // The same, beside a gradient.
  template <class F>
  WorkOf<F> work_aside(Work kind, Elements n, F f) {
    return WorkOf<F>(*this, kind, n, true, std::move(f));
  }

  // Called by a function of work() on any thread: runs f soon on the node's thread, before the work
  // completes. Returns false, without running f, if time stands still during work (simulation).
  virtual bool post(const std::function<void()>& f) {
    (void)f;
    return false;
  }

  // Whether post() runs anything, so that a function of work() can wait for events.
  virtual bool posts() const { return false; }

  // Called by a function of work(): runs all lanes to their ends at the same time. Live, each lane
  // has a thread; in simulation they are interleaved step by step, as the seed draws for this
  // `turn`.
  virtual void together(std::span<Lane* const> lanes, std::uint64_t turn);

  // The job's random stream for a purpose: the same on every node with the same arguments.
  Random random(Purpose purpose, std::uint64_t a = 0, std::uint64_t b = 0) const {
    return {seed_, purpose, a, b};
  }
  Seed seed() const { return seed_; }

  // Adds time, node and incarnation, and passes the event to the flight recorder.
  virtual void record(Event event) = 0;
  // Marks that a rare path was reached; the swarm counts these.
  virtual void probe(const char* what) { (void)what; }
  // True now and then, only in simulation, at points where something legal but rare may happen.
  virtual bool buggify(const char* site) {
    (void)site;
    return false;
  }

 protected:
  explicit Env(Seed seed) : seed_(seed) {}

 private:
  friend class SleepOp;
  friend class WorkOp;
  virtual void start_sleep(SleepOp& op) = 0;
  virtual void abort_sleep(SleepOp& op) = 0;
  virtual void start_work(WorkOp& op) = 0;
  virtual bool abort_work(WorkOp& op) = 0;

  Seed seed_;
};

inline void SleepOp::start() { env_->start_sleep(*this); }
inline bool SleepOp::abort() {
  env_->abort_sleep(*this);
  return true;
}
inline void WorkOp::start() { env_->start_work(*this); }
inline bool WorkOp::abort() {
  if (env_->abort_work(*this)) return true;
  wanted_.store(false, std::memory_order_relaxed);
  return false;
}

}  // namespace shoal
