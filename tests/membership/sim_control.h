// A simulated job for tests of membership: processes on a queue of virtual time, control links
// between them, and one store behind a network of its own. All delays are drawn from the seed.
//
//   SimJob job(Seed(7));
//   job.start(0, program(job.process(0)));
//   job.run_for(2s);
//   job.crash(0);
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/types.h"
#include "membership/control.h"
#include "membership/embedded_store.h"
#include "membership/store.h"
#include "runtime/channel.h"
#include "runtime/env.h"
#include "runtime/executor.h"
#include "runtime/task_group.h"

namespace shoal {

class SimJob;
class SimProcess;
using Slot = unsigned;  // runs one process after another
inline constexpr Slot kStoreSlot = 1000;

// Two ends of a control link; side 0 connected, side 1 accepted.
struct SimConnection {
  struct Side {
    std::shared_ptr<SimProcess> process;
    Channel<std::string> inbox;
    Time last{};  // arrival of the last message from this side: links keep their order
    bool closed = false;
  };
  Side sides[2];
};

// One life of a process.
class SimProcess final : public Env, public std::enable_shared_from_this<SimProcess> {
 public:
  SimProcess(SimJob& job, Slot slot, std::uint64_t instance);
  ~SimProcess() override;

  Slot slot() const { return slot_; }
  std::uint64_t instance() const { return instance_; }
  bool alive() const { return alive_; }
  bool running() const { return alive_ && group_.running() > 0; }
  ControlNet& net();
  Store& store();
  // The error that ended its program; empty while it runs, or if it ended well.
  const std::string& error() const { return error_; }

  Time now() const override;
  void record(Event) override {}

 private:
  friend class SimJob;
  class Net;
  class RemoteStore;
  class RemoteWatch;
  static std::unique_ptr<Store> make_remote_store(SimJob& job, SimProcess& process);
  struct Timer {
    SleepOp* op;
  };
  void start_sleep(SleepOp& op) override;
  void abort_sleep(SleepOp& op) override;
  void start_work(WorkOp& op) override;
  bool abort_work(WorkOp&) override { return true; }
  void run(Task<void> program);
  Task<void> guard(Task<void> program);

  SimJob* job_;
  Slot slot_;
  std::uint64_t instance_;
  bool alive_ = true;
  bool frozen_ = false;
  std::deque<std::function<void()>> held_;  // while frozen
  Executor executor_;
  std::string error_;
  std::unique_ptr<Net> net_;
  std::unique_ptr<Store> store_;
  std::vector<std::weak_ptr<SimConnection>> connections_;
  std::unique_ptr<Channel<std::unique_ptr<ControlLink>>> accepted_;
  TaskGroup group_;
};

// Thread safety: none. Invariant: everything that happens to a process is an event of its own,
// after which its coroutines run until all wait, so that the order of events determines everything.
class SimJob {
 public:
  explicit SimJob(Seed seed);
  ~SimJob();
  SimJob(const SimJob&) = delete;
  SimJob& operator=(const SimJob&) = delete;

  // A new life in that slot. REQUIRES: the previous one has ended or was crashed.
  SimProcess& create(Slot slot);
  void start(SimProcess& process, Task<void> program);
  SimProcess* find(Slot slot);  // alive, or null

  void crash(Slot slot);       // its links break
  void power_loss(Slot slot);  // silent: others are not told, and get no answer
  void freeze(Slot slot);
  void thaw(Slot slot);
  void cut(Slot from, Slot to);  // messages are held back, and the cut is not reported
  void heal(Slot from, Slot to);
  void heal_all();  // links, frozen processes, the store
  bool frozen(Slot slot);

  void at(Duration from_now, std::function<void()> what);
  void within(Slot slot, std::function<void()> what);  // runs it now, as an event of that process
  void run_for(Duration duration);
  // Runs until `done`, at most for `limit`; returns whether it was done.
  bool run_until(Duration limit, const std::function<bool()>& done);

  Time now() const { return now_; }
  Random& random() { return random_; }
  EmbeddedStore& store() { return *truth_; }  // the store itself, for tasks in kStoreSlot
  Duration latency_max = std::chrono::milliseconds(5);
  bool same_addresses = false;  // a restarted process reuses the address of its previous life

 private:
  friend class SimProcess;
  friend class SimLink;
  using Function = std::function<void()>;
  struct Happening {
    std::shared_ptr<SimProcess> target;  // null: the world
    Function what;
  };
  struct Held {
    std::pair<Slot, Slot> link;
    std::shared_ptr<SimProcess> target;
    Function what;
    std::shared_ptr<Time> last;
  };

  void schedule(Time at, std::shared_ptr<SimProcess> target, Function what);
  // `last`, if given, keeps messages of one stream in order.
  void send(Slot from, Slot to, std::shared_ptr<SimProcess> target, Function what,
            std::shared_ptr<Time> last);
  void happen(Happening happening);
  void end(Slot slot, bool quiet);
  void close(const std::shared_ptr<SimConnection>& connection, int side);
  void offer(const std::shared_ptr<SimProcess>& from, const std::string& address,
             std::function<void(std::shared_ptr<SimConnection>)> made,
             std::function<void(std::string)> refused);
  std::string address_of(const SimProcess& process) const;

  Random random_;
  Time now_{};
  std::uint64_t sequence_ = 0;
  std::map<std::pair<Time, std::uint64_t>, Happening> queue_;
  std::set<std::pair<Slot, Slot>> cuts_;
  std::vector<Held> held_;
  std::set<Slot> dark_;  // lost power
  std::map<Slot, std::shared_ptr<SimProcess>> processes_;
  std::vector<std::shared_ptr<SimProcess>> graves_;
  std::uint64_t instances_ = 0;
  bool ending_ = false;
  std::unique_ptr<EmbeddedStore> truth_;
};

}  // namespace shoal
