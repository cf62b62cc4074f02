#include "transport/inproc_world.h"

#include <fmt/format.h>

#include <cstdio>
#include <future>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "runtime/live/compute_thread.h"
#include "runtime/live/live_env.h"
#include "runtime/task_group.h"
#include "transport/inproc.h"

namespace shoal {

using namespace std::chrono_literals;

namespace {
// Time limits in a hung run: for a loop to answer, and for cancelled programs to end.
constexpr auto kAnswerLimit = 2s;
constexpr auto kCancelLimit = 10s;
constexpr std::size_t kDumpEvents = 40;
}  // namespace

// A loop, and the objects of its thread.
struct InprocWorld::Host {
  Host(std::size_t number, const LoopOptions& options) : index(number), loop(options) {}
  std::size_t index;
  LiveLoop loop;
  Recorder recorder{Recorder::kDepth, Recorder::Hashed::No};
  std::optional<ComputeThread> compute, io;
  std::map<LifeId, std::unique_ptr<Life>> lives;
};

struct InprocWorld::Life {
  Life(InprocWorld& world, Host& on, LifeId identity)
      : id(identity),
        host(&on),
        env(on.loop, {.node = id.first,
                      .incarnation = id.second,
                      .seed = world.options_.seed,
                      .compute = on.compute ? &*on.compute : nullptr,
                      .io = on.io ? &*on.io : nullptr,
                      .recorder = &on.recorder}),
        endpoint(world.make_endpoint(on.loop, env, id)),
        membership(*world.coordinator_, id.first, id.second,
                   [this](const std::string& why) { endpoint->fence(why); }),
        files(world.files_(env, id.first)),
        node{id.first, id.second, env, *endpoint, membership, *files},
        tasks(on.loop.context()) {
    endpoint->on_fenced([this](const std::string& why) { membership.fenced(why); });
  }
  void record(EventKind kind) {
    Event event;
    event.kind = kind;
    env.record(event);
  }
  void see(const ViewPtr& view) {
    env.record(view_event(*view));
    endpoint->adopt(view);
    membership.view_arrived(view);
  }

  LifeId id;
  Host* host;
  LiveEnv env;
  std::unique_ptr<LiveEndpoint> endpoint;
  InprocMembership membership;
  std::unique_ptr<Files> files;
  Node node;
  TaskGroup tasks;
  bool killed = false;
  bool ended = false;
};

InprocWorld::InprocWorld(InprocOptions options, MakeFiles files)
    : options_(std::move(options)),
      files_(std::move(files)),
      origin_(std::chrono::steady_clock::now()) {
  SHOAL_CHECK(options_.nodes > 0 && options_.loops > 0, "a world needs nodes and loops");
  const LoopOptions loop_options{.origin = origin_, .stall_after = options_.stall_after};
  for (std::size_t i = 0; i < options_.loops; ++i) {
    Host& h = *hosts_.emplace_back(std::make_unique<Host>(i, loop_options));
    h.loop.on_stall([&h](const std::vector<std::string>& waiting) {
      for (const std::string& line : waiting) fmt::print(stderr, "stalled {}\n", line);
      fmt::print(stderr, "{}", h.recorder.dump(kDumpEvents));
    });
  }
  CoordinatorOptions coordinator = options_.coordinator;
  coordinator.expected = options_.nodes;
  LiveLoop& first = hosts_.front()->loop;
  coordinator_.emplace(coordinator, [&first] { return first.now(); });
  // The first view waits for all nodes, but not forever.
  first.at(first.now() + coordinator.form_limit, [this] { coordinator_->look(); });
}

InprocWorld::~InprocWorld() = default;

std::unique_ptr<LiveEndpoint> InprocWorld::make_endpoint(LiveLoop& loop, Env& env, LifeId id) {
  if (options_.endpoint) return options_.endpoint(loop, env, id.first, id.second);
  return std::make_unique<InprocEndpoint>(net_, loop, env, id.first, id.second);
}

Recorder& InprocWorld::recorder(std::size_t loop) { return hosts_.at(loop)->recorder; }

// ---- From any thread

void InprocWorld::start(NodeId node) {
  if (giving_up_) return;
  Slot& slot = slots_[node];
  slot.incarnation = slot.incarnation.next();
  slot.up = true;
  ++running_;
  host(node).loop.inject([this, id = LifeId(node, slot.incarnation)] { begin(id); });
}

void InprocWorld::kill(NodeId node) {
  const std::lock_guard lock(mutex_);
  const auto it = slots_.find(node);
  if (it == slots_.end() || !it->second.up) return;
  const LifeId id(node, it->second.incarnation);
  host(node).loop.inject([this, id] { kill_here(id, "connection reset"); });
}

void InprocWorld::restart(NodeId node) {
  kill(node);
  const std::lock_guard lock(mutex_);
  start(node);
}

void InprocWorld::evict(NodeId node, const std::string& why) {
  const View view = coordinator_->view();
  const Member* const member = view.find(node);
  if (member == nullptr) return;
  // The coordinator listens only to members; the accused node itself will do.
  coordinator_->suspect(*member, node, member->incarnation, why);
}

// ---- Incarnations of nodes, each on the thread of its loop

InprocWorld::Life* InprocWorld::find(LifeId id) {
  const auto& lives = host(id.first).lives;
  const auto it = lives.find(id);
  return it == lives.end() ? nullptr : it->second.get();
}

void InprocWorld::begin(LifeId id) {
  Host& h = host(id.first);
  Life& life = *(h.lives[id] = std::make_unique<Life>(*this, h, id));
  life.record(EventKind::NodeStarted);
  life.tasks.spawn(live(life));

  Member member;
  member.node = id.first;
  member.role = options_.role(id.first);
  member.host = options_.host(id.first);
  member.incarnation = id.second;
  InprocCoordinator::Listener listener;
  listener.view = [this, &h, id](ViewPtr view) {
    h.loop.inject([this, id, view = std::move(view)] {
      Life* const l = find(id);
      if (l != nullptr && !l->killed && !l->ended) l->see(view);
    });
  };
  listener.fenced = [this, &h, id](std::string why) {
    h.loop.inject([this, id, why = std::move(why)] {
      Life* const l = find(id);
      if (l != nullptr && !l->killed && !l->ended) l->endpoint->fence(why);
    });
  };
  coordinator_->enter(member, std::move(listener));
}

Task<void> InprocWorld::live(Life& life) {
  NodeEnd::How how = NodeEnd::How::Returned;
  std::exception_ptr error;
  try {
    co_await program_(life.node);
  } catch (const Fenced&) {
    how = NodeEnd::How::Fenced;
  } catch (const Cancelled&) {
    how = NodeEnd::How::Failed;
    error = std::make_exception_ptr(Error("Cancelled escaped the node program"));
  } catch (...) {
    how = NodeEnd::How::Failed;
    error = std::current_exception();
  }
  end(life, how, std::move(error));
}

void InprocWorld::end(Life& life, NodeEnd::How how, std::exception_ptr error) {
  life.ended = true;
  if (life.killed) return bury(life.id, NodeEnd::How::Killed, nullptr);
  // Kept until the last of its ranges is free, and the peers know that it has ended.
  std::string why = "its program has ended";
  if (how == NodeEnd::How::Fenced) why = "it was evicted";
  if (how == NodeEnd::How::Failed) why = "its program has failed";
  life.endpoint->die(why, [this, id = life.id, how, error = std::move(error)]() mutable {
    bury(id, how, std::exchange(error, nullptr));
  });
  if (how == NodeEnd::How::Returned) {
    life.membership.leave();
  } else {
    coordinator_->connection_lost(life.id.first, life.id.second, why);
  }
}

void InprocWorld::kill_here(LifeId id, const std::string& why) {
  Life* const life = find(id);
  if (life == nullptr || life->killed || life->ended) return;
  life->killed = true;
  life->record(EventKind::NodeCrashed);
  life->endpoint->die(why, [life] { life->tasks.cancel(); });
  coordinator_->connection_lost(id.first, id.second, why);
}

// Deferred, because the coroutine that has ended is still on the stack.
void InprocWorld::bury(LifeId id, NodeEnd::How how, std::exception_ptr error) {
  Host& h = host(id.first);
  h.loop.defer([this, &h, id, how, error = std::move(error)]() mutable {
    h.lives.erase(id);
    const std::lock_guard lock(mutex_);
    ends_.push_back({id.first, id.second, how, std::exchange(error, nullptr)});
    Slot& slot = slots_[id.first];
    if (slot.incarnation == id.second) {
      slot.up = false;
      if (how == NodeEnd::How::Fenced) start(id.first);
    }
    --running_;
    ended_.notify_all();
  });
}

// ---- Running

std::vector<NodeEnd> InprocWorld::run(NodeProgram program) {
  SHOAL_CHECK(!program_, "a world runs once");
  program_ = std::move(program);
  if (options_.dump_signal != 0) {
    hosts_.front()->loop.watch_signal(options_.dump_signal, [this] {
      for (auto& h : hosts_) h->loop.inject([&h] { fmt::print(stderr, "{}", describe(*h)); });
    });
  }
  // Only now, because threads inherit the blocked signal from their starter.
  for (auto& h : hosts_) {
    if (options_.compute_threads) h->compute.emplace();
    if (options_.io_threads) h->io.emplace();
  }
  const CrashHook hook([this] {
    for (auto& h : hosts_) fmt::print(stderr, "{}", h->recorder.dump(kDumpEvents));
  });
  {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t n = 0; n < options_.nodes; ++n) start(NodeId(n));
  }
  run_loops();
  return std::move(ends_);
}

void InprocWorld::run_loops() {
  std::vector<std::thread> threads;
  for (auto& h : hosts_) threads.emplace_back([&h] { h->loop.run(); });
  const auto finish = [&] {
    for (auto& h : hosts_) h->loop.stop();
    for (std::thread& thread : threads) thread.join();
  };
  bool finished = false;
  {
    std::unique_lock lock(mutex_);
    finished = ended_.wait_for(lock, options_.limit, [&] { return running_ == 0; });
  }
  if (finished) return finish();
  try {
    give_up();
  } catch (...) {
    finish();
    throw;
  }
}

// Reports a hang: the running programs, the operations they wait for, and the last events.
void InprocWorld::give_up() {
  std::string text;
  for (const std::string& answer : ask_loops([](Host& h) { return describe(h); })) text += answer;
  fmt::print(stderr, "{}", text);
  std::string running;
  std::vector<NodeId> nodes;
  {
    const std::lock_guard lock(mutex_);
    giving_up_ = true;
    for (const auto& [node, slot] : slots_) {
      if (!slot.up) continue;
      nodes.push_back(node);
      running += fmt::format(" {}.{}", node, slot.incarnation);
    }
  }
  for (const NodeId node : nodes) kill(node);
  {
    std::unique_lock lock(mutex_);
    const bool ended = ended_.wait_for(lock, kCancelLimit, [&] { return running_ == 0; });
    SHOAL_CHECK(ended, "programs of nodes{} did not end when cancelled", running);
  }
  throw Error(fmt::format("not finished after {:.1f} s: still running:{}; the coordinator says: {}",
                          seconds(options_.limit), running, coordinator_->reason()));
}

std::vector<std::string> InprocWorld::ask_loops(const std::function<std::string(Host&)>& question) {
  std::vector<std::future<std::string>> answers;
  for (auto& h : hosts_) {
    auto promise = std::make_shared<std::promise<std::string>>();
    answers.push_back(promise->get_future());
    h->loop.inject([&h, promise, question] { promise->set_value(question(*h)); });
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool answered = answers[i].wait_for(kAnswerLimit) == std::future_status::ready;
    texts.push_back(answered ? answers[i].get()
                             : fmt::format("loop {} does not respond: a program blocks it\n", i));
  }
  return texts;
}

std::string InprocWorld::describe(Host& host) {
  std::string text = fmt::format("loop {}:\n", host.index);
  for (const auto& [id, life] : host.lives) {
    text += fmt::format("node {}.{}{}, {}\n", id.first, id.second, life->killed ? " killed" : "",
                        shoal::describe(life->membership.now()));
    for (const std::string& line : life->endpoint->waiting()) text += "  " + line + '\n';
  }
  return text + host.recorder.dump(kDumpEvents);
}

void rethrow_failure(const std::vector<NodeEnd>& ends) {
  for (const NodeEnd& end : ends)
    if (end.error) std::rethrow_exception(end.error);
}

}  // namespace shoal
