// A simulated process's access to the store: over links that delay and break.
#include <optional>
#include <utility>

#include "membership/sim_control.h"

namespace shoal {

class SimProcess::RemoteWatch final : public Watch {
 public:
  struct State {
    Channel<Change> changes;
    bool closing = false;
    Signal closed;
    Time last{};
  };
  RemoteWatch(SimJob& job, std::shared_ptr<SimProcess> process, std::string prefix)
      : job_(&job), process_(std::move(process)), prefix_(std::move(prefix)) {}
  ~RemoteWatch() override {
    if (!begun_) return;
    const auto end = [state = state_] {
      state->closing = true;
      state->closed.notify_all();
    };
    job_->send(process_->slot(), kStoreSlot, job_->processes_.at(kStoreSlot), end, nullptr);
  }
  RemoteWatch(const RemoteWatch&) = delete;
  RemoteWatch& operator=(const RemoteWatch&) = delete;

  Task<Change> next() override {
    if (!std::exchange(begun_, true)) {
      const std::shared_ptr<SimProcess> host = job_->processes_.at(kStoreSlot);
      const auto begin = [job = job_, host, process = process_, state = state_, prefix = prefix_] {
        host->group_.spawn(serve(*job, process, state, prefix));
      };
      job_->send(process_->slot(), kStoreSlot, host, begin, nullptr);
    }
    std::optional<Change> change = co_await state_->changes.next();
    co_return std::move(*change);
  }

 private:
  static Task<void> follow(SimJob& job, std::shared_ptr<SimProcess> process,
                           std::shared_ptr<State> state, std::string prefix) {
    const std::unique_ptr<Watch> watch = job.truth_->watch(prefix);
    while (true) {
      const Change change = co_await watch->next();
      const auto arrive = [state, change] { state->changes.push(change); };
      job.send(kStoreSlot, process->slot(), process, arrive,
               std::shared_ptr<Time>(state, &state->last));
    }
  }
  static Task<void> until_closed(std::shared_ptr<State> state) {
    while (!state->closing) co_await state->closed.wait();
  }
  static Task<void> serve(SimJob& job, std::shared_ptr<SimProcess> process,
                          std::shared_ptr<State> state, std::string prefix) {
    co_await race(follow(job, process, state, prefix), until_closed(state));
  }

  SimJob* job_;
  std::shared_ptr<SimProcess> process_;
  std::string prefix_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  bool begun_ = false;
};

class SimProcess::RemoteStore final : public Store {
 public:
  RemoteStore(SimJob& job, SimProcess& process) : job_(&job), process_(&process) {}

  Task<std::optional<Entry>> get(std::string key) override {
    return call<std::optional<Entry>>([key](Store& store) { return store.get(key); });
  }
  Task<Committed> commit(Transaction transaction) override {
    return call<Committed>([transaction](Store& store) { return store.commit(transaction); });
  }
  std::unique_ptr<Watch> watch(std::string prefix) override {
    return std::make_unique<RemoteWatch>(*job_, process_->shared_from_this(), std::move(prefix));
  }
  Task<LeaseId> grant(Duration ttl) override {
    return call<LeaseId>([ttl](Store& store) { return store.grant(ttl); });
  }
  Task<bool> renew(LeaseId lease) override {
    return call<bool>([lease](Store& store) { return store.renew(lease); });
  }
  Task<void> revoke(LeaseId lease) override {
    const std::function<Task<bool>(Store&)> what = [lease](Store& store) {
      return revoked(store, lease);
    };
    co_await call<bool>(what);
  }

 private:
  template <class T>
  struct Call {
    std::function<Task<T>(Store&)> what;
    std::optional<T> answer;
    Signal answered;
  };
  static Task<bool> revoked(Store& store, LeaseId lease) {
    co_await store.revoke(lease);
    co_return true;
  }
  template <class T>
  Task<T> call(std::function<Task<T>(Store&)> what) {
    const auto made = std::make_shared<Call<T>>();
    made->what = std::move(what);
    return answer_of<T>(made);
  }
  template <class T>
  Task<T> answer_of(std::shared_ptr<Call<T>> made) {
    const std::shared_ptr<SimProcess> process = process_->shared_from_this();
    const std::shared_ptr<SimProcess> host = job_->processes_.at(kStoreSlot);
    const auto begin = [job = job_, host, process, made] {
      host->group_.spawn(serve<T>(*job, process, made));
    };
    job_->send(process->slot(), kStoreSlot, host, begin, nullptr);
    while (!made->answer) co_await made->answered.wait();
    co_return std::move(*made->answer);
  }
  template <class T>
  static Task<void> serve(SimJob& job, std::shared_ptr<SimProcess> process,
                          std::shared_ptr<Call<T>> made) {
    T answer = co_await made->what(*job.truth_);
    const auto arrive = [made, answer] {
      made->answer = answer;
      made->answered.notify_all();
    };
    job.send(kStoreSlot, process->slot(), process, arrive, nullptr);
  }

  SimJob* job_;
  SimProcess* process_;
};

std::unique_ptr<Store> SimProcess::make_remote_store(SimJob& job, SimProcess& process) {
  return std::make_unique<RemoteStore>(job, process);
}

}  // namespace shoal
