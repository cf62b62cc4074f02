#include "membership/sim_control.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/error.h"

namespace shoal {

using namespace std::chrono_literals;

// ---- links

class SimLink final : public ControlLink {
 public:
  SimLink(SimJob& job, std::shared_ptr<SimConnection> connection, int side)
      : job_(&job), connection_(std::move(connection)), side_(side) {
    peer_ = fmt::format("p{}", connection_->sides[1 - side].process->slot());
  }
  ~SimLink() override { job_->close(connection_, side_); }
  SimLink(const SimLink&) = delete;
  SimLink& operator=(const SimLink&) = delete;

  void send(std::string message) override {
    SimConnection::Side& mine = connection_->sides[side_];
    const SimConnection::Side& theirs = connection_->sides[1 - side_];
    if (mine.closed) return;
    const auto arrive = [c = connection_, to = 1 - side_, m = std::move(message)] {
      if (!c->sides[to].closed) c->sides[to].inbox.push(m);
    };
    job_->send(mine.process->slot(), theirs.process->slot(), theirs.process, arrive,
               std::shared_ptr<Time>(connection_, &mine.last));
  }
  Task<std::string> receive() override {
    std::optional<std::string> message = co_await connection_->sides[side_].inbox.next();
    if (!message) throw LinkLost(fmt::format("the link to {} broke", peer_));
    co_return std::move(*message);
  }
  const std::string& peer() const override { return peer_; }

 private:
  SimJob* job_;
  std::shared_ptr<SimConnection> connection_;
  int side_;
  std::string peer_;
};

// The end of one side's stream reaches the other after all data that was sent before it.
void SimJob::close(const std::shared_ptr<SimConnection>& connection, int side) {
  SimConnection::Side& mine = connection->sides[side];
  const SimConnection::Side& theirs = connection->sides[1 - side];
  if (std::exchange(mine.closed, true)) return;
  const auto arrive = [c = connection, to = 1 - side] { c->sides[to].inbox.close(); };
  send(mine.process->slot(), theirs.process->slot(), theirs.process, arrive,
       std::shared_ptr<Time>(connection, &mine.last));
}

void SimJob::offer(const std::shared_ptr<SimProcess>& from, const std::string& address,
                   std::function<void(std::shared_ptr<SimConnection>)> made,
                   std::function<void(std::string)> refused) {
  const Slot to = static_cast<Slot>(std::stoul(address.substr(1)));
  const auto arrive = [this, from, address, to, made, refused] {
    if (dark_.contains(to)) return;
    SimProcess* const listening = find(to);
    if (listening == nullptr || address_of(*listening) != address) {
      send(
          to, from->slot(), from,
          [refused, address] { refused(fmt::format("nobody listens at {}", address)); }, nullptr);
      return;
    }
    const std::shared_ptr<SimProcess> server = listening->shared_from_this();
    schedule(now_, server, [this, from, server, made] {
      auto connection = std::make_shared<SimConnection>();
      connection->sides[0].process = from;
      connection->sides[1].process = server;
      server->connections_.push_back(connection);
      server->accepted_->push(std::make_unique<SimLink>(*this, connection, 1));
      // If the other process has gone meanwhile, its system breaks the link.
      if (!from->alive()) return close(connection, 0);
      from->connections_.push_back(connection);
      send(
          server->slot(), from->slot(), from, [made, connection] { made(connection); },
          std::shared_ptr<Time>(connection, &connection->sides[1].last));
    });
  };
  send(from->slot(), to, nullptr, arrive, nullptr);
}

class SimProcess::Net final : public ControlNet {
 public:
  Net(SimJob& job, SimProcess& process) : job_(&job), process_(&process) {}
  std::string address() const override { return job_->address_of(*process_); }

  Task<std::unique_ptr<ControlLink>> connect(std::string address) override {
    struct Attempt {
      std::unique_ptr<SimLink> link;
      std::string refused;
      bool given_up = false;
      Signal done;
    };
    const auto attempt = std::make_shared<Attempt>();
    // Runs when this coroutine ends, for any reason.
    struct GiveUp {
      std::shared_ptr<Attempt> attempt;
      ~GiveUp() { attempt->given_up = true; }
    } give_up{attempt};
    job_->offer(
        process_->shared_from_this(), address,
        [attempt, job = job_](std::shared_ptr<SimConnection> connection) {
          auto link = std::make_unique<SimLink>(*job, std::move(connection), 0);
          if (attempt->given_up) return;
          attempt->link = std::move(link);
          attempt->done.notify_all();
        },
        [attempt](std::string why) {
          attempt->refused = std::move(why);
          attempt->done.notify_all();
        });
    while (attempt->link == nullptr && attempt->refused.empty()) co_await attempt->done.wait();
    if (attempt->link == nullptr) throw LinkLost(attempt->refused);
    co_return std::move(attempt->link);
  }

  Task<std::unique_ptr<ControlLink>> accept() override {
    std::optional<std::unique_ptr<ControlLink>> link = co_await process_->accepted_->next();
    co_return std::move(*link);
  }

 private:
  SimJob* job_;
  SimProcess* process_;
};

// ---- a process

SimProcess::SimProcess(SimJob& job, Slot slot, std::uint64_t instance)
    : Env(Seed(slot)),
      job_(&job),
      slot_(slot),
      instance_(instance),
      net_(std::make_unique<Net>(job, *this)),
      store_(make_remote_store(job, *this)),
      accepted_(std::make_unique<Channel<std::unique_ptr<ControlLink>>>()),
      group_(Context{&executor_, nullptr}) {}

SimProcess::~SimProcess() = default;

ControlNet& SimProcess::net() { return *net_; }
Store& SimProcess::store() { return *store_; }

Time SimProcess::now() const { return job_->now(); }

void SimProcess::start_sleep(SleepOp& op) {
  const auto timer = std::make_shared<Timer>(Timer{&op});
  op.timer = timer.get();
  job_->schedule(now() + std::max(op.duration(), Duration()), shared_from_this(), [timer] {
    if (timer->op == nullptr) return;
    timer->op->timer = nullptr;
    timer->op->fire();
  });
}

void SimProcess::abort_sleep(SleepOp& op) {
  static_cast<Timer*>(std::exchange(op.timer, nullptr))->op = nullptr;
}

void SimProcess::start_work(WorkOp& op) {
  op.run();
  op.done();
}

void SimProcess::run(Task<void> program) {
  group_.spawn(guard(std::move(program)));
  executor_.run_ready();
}

Task<void> SimProcess::guard(Task<void> program) {
  try {
    co_await std::move(program);
  } catch (const Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    error_ = error.what();
  }
}

// ---- the world

SimJob::SimJob(Seed seed) : random_(seed, Purpose::Network) {
  truth_ = std::make_unique<EmbeddedStore>(create(kStoreSlot));
}

SimJob::~SimJob() {
  ending_ = true;
  std::vector<Slot> slots;
  for (const auto& [slot, process] : processes_) slots.push_back(slot);
  // The store goes last, after all its watchers.
  std::ranges::sort(slots, {}, [](Slot slot) { return slot == kStoreSlot; });
  for (const Slot slot : slots) {
    if (processes_.at(slot)->alive()) end(slot, true);
  }
  queue_.clear();
  held_.clear();
}

std::string SimJob::address_of(const SimProcess& process) const {
  return same_addresses ? fmt::format("p{}", process.slot())
                        : fmt::format("p{}:{}", process.slot(), process.instance());
}

SimProcess& SimJob::create(Slot slot) {
  SHOAL_CHECK(find(slot) == nullptr, "process {} runs already", slot);
  if (processes_.contains(slot)) graves_.push_back(processes_.at(slot));
  dark_.erase(slot);
  processes_[slot] = std::make_shared<SimProcess>(*this, slot, ++instances_);
  return *processes_.at(slot);
}

void SimJob::start(SimProcess& process, Task<void> program) { process.run(std::move(program)); }

SimProcess* SimJob::find(Slot slot) {
  const auto it = processes_.find(slot);
  return it != processes_.end() && it->second->alive() ? it->second.get() : nullptr;
}

void SimJob::crash(Slot slot) { end(slot, false); }

void SimJob::power_loss(Slot slot) {
  dark_.insert(slot);
  end(slot, true);
}

void SimJob::end(Slot slot, bool quiet) {
  SimProcess& process = *processes_.at(slot);
  for (const std::weak_ptr<SimConnection>& weak : process.connections_) {
    const std::shared_ptr<SimConnection> connection = weak.lock();
    if (connection == nullptr) continue;
    for (const int side : {0, 1}) {
      if (connection->sides[side].process.get() != &process) continue;
      if (quiet) {
        connection->sides[side].closed = true;
      } else {
        close(connection, side);
      }
    }
  }
  process.alive_ = false;
  process.group_.cancel();
  process.executor_.run_ready();
  SHOAL_CHECK_EQ(process.group_.running(), 0U, "process {} cannot be cancelled", slot);
  process.held_.clear();
  process.accepted_.reset();
}

void SimJob::freeze(Slot slot) { processes_.at(slot)->frozen_ = true; }

bool SimJob::frozen(Slot slot) { return processes_.at(slot)->frozen_; }

void SimJob::thaw(Slot slot) {
  const std::shared_ptr<SimProcess> process = processes_.at(slot);
  if (!std::exchange(process->frozen_, false)) return;
  for (Function& what : std::exchange(process->held_, {})) schedule(now_, process, std::move(what));
}

void SimJob::cut(Slot from, Slot to) { cuts_.insert({from, to}); }

void SimJob::heal(Slot from, Slot to) {
  cuts_.erase({from, to});
  std::vector<Held> kept;
  for (Held& held : std::exchange(held_, {})) {
    if (held.link != std::pair(from, to)) {
      kept.push_back(std::move(held));
    } else {
      send(from, to, std::move(held.target), std::move(held.what), std::move(held.last));
    }
  }
  held_ = std::move(kept);
}

void SimJob::heal_all() {
  for (const auto& [from, to] : std::set(cuts_)) heal(from, to);
  for (const auto& [slot, process] : processes_) thaw(slot);
}

void SimJob::schedule(Time at, std::shared_ptr<SimProcess> target, Function what) {
  if (ending_) return;
  queue_.emplace(std::pair(at, sequence_++), Happening{std::move(target), std::move(what)});
}

void SimJob::send(Slot from, Slot to, std::shared_ptr<SimProcess> target, Function what,
                  std::shared_ptr<Time> last) {
  if (ending_ || dark_.contains(from)) return;
  if (cuts_.contains({from, to})) {
    held_.push_back(Held{{from, to}, std::move(target), std::move(what), std::move(last)});
    return;
  }
  Time arrival = now_ + random_.duration(20us, from == to ? 50us : latency_max);
  if (last != nullptr) arrival = *last = std::max(arrival, *last);
  schedule(arrival, std::move(target), std::move(what));
}

void SimJob::happen(Happening happening) {
  SimProcess* const process = happening.target.get();
  if (process == nullptr) return happening.what();
  if (!process->alive_) return;
  if (process->frozen_) {
    process->held_.push_back(std::move(happening.what));
    return;
  }
  happening.what();
  process->executor_.run_ready();
}

void SimJob::at(Duration from_now, std::function<void()> what) {
  schedule(now_ + from_now, nullptr, std::move(what));
}

void SimJob::within(Slot slot, std::function<void()> what) {
  schedule(now_, processes_.at(slot), std::move(what));
}

void SimJob::run_for(Duration duration) {
  run_until(duration, [] { return false; });
}

bool SimJob::run_until(Duration limit, const std::function<bool()>& done) {
  const Time end = now_ + limit;
  while (true) {
    if (done()) return true;
    if (queue_.empty() || queue_.begin()->first.first > end) break;
    auto first = queue_.extract(queue_.begin());
    now_ = first.key().first;
    happen(std::move(first.mapped()));
  }
  now_ = end;
  return done();
}

}  // namespace shoal
