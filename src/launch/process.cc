#include "launch/process.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/random.h"
#include "launch/host.h"
#include "launch/ranks.h"
#include "membership/embedded_store.h"
#include "membership/member.h"
#include "runtime/live/compute_thread.h"
#include "runtime/live/live_env.h"
#include "runtime/live/loop.h"
#include "runtime/live/posix_files.h"
#include "runtime/task_group.h"
#include "transport/control/tcp_control.h"
#include "transport/etcd/etcd_store.h"
#include "transport/shm/shm_carrier.h"
#include "transport/ucx/ucx_carrier.h"
#include "transport/wire/wire_endpoint.h"

namespace shoal {
namespace {

constexpr std::size_t kDumpEvents = 40;
constexpr Duration kFarewellLimit = std::chrono::seconds(1);
constexpr Duration kStopLook = std::chrono::milliseconds(50);
// The slowest worker of a step is usually waited for less; a wait for a lost one soon sleeps.
constexpr Duration kAwake = std::chrono::milliseconds(100);

Duration awake_time(bool awake) { return awake ? kAwake : Duration::zero(); }

// The contacts of the members of the present view.
class ViewDirectory final : public PeerDirectory {
 public:
  void learn(const Contacts& contacts) { contacts_ = contacts; }
  std::optional<Listing> find(NodeId node, Incarnation incarnation) const override {
    const auto it = contacts_.find(node);
    if (it == contacts_.end()) return std::nullopt;
    const Contact& contact = it->second;
    if (incarnation != Incarnation(0) && incarnation != contact.incarnation) return std::nullopt;
    return Listing{{node, contact.incarnation}, decode_ways(contact.bytes)};
  }

 private:
  Contacts contacts_;
};

}  // namespace

// Thread safety: none; all of it runs on the thread in run(). Invariant: endpoint_ and node_env_
// belong to the running incarnation; endpoint_ is null if none runs.
class Process::Impl {
 public:
  explicit Impl(ProcessOptions options);
  void run(NodeProgram program);

 private:
  Task<void> take_part(NodeProgram program);
  Task<void> coordinate_job(Signal& over, bool& is_over);
  Task<void> watch_stop();
  Task<void> lives(const NodeProgram& program);
  // True: the program has returned. False: the incarnation was fenced.
  Task<bool> live(const NodeProgram& program);
  Task<void> end(WireEndpoint& endpoint, const std::string& why);
  Carriers make_carriers();
  TcpControlOptions control_options() const;
  MemberOptions member_options();
  void see_view();
  JobOptions job_options() const;
  void stalled(const std::vector<std::string>& waiting);
  std::string situation();
  void say(const std::string& line) const;

  const ProcessOptions options_;
  const NodeId node_;
  const ProcessInfo who_;
  LiveLoop loop_;
  Recorder recorder_{Recorder::kDepth, Recorder::Hashed::No};
  std::optional<ComputeThread> compute_, io_;
  LiveEnv env_;  // of the process, for its links and its store, not for the node
  TcpControlNet net_;
  std::optional<EmbeddedStore> embedded_;
  std::optional<EtcdStore> etcd_;
  ViewDirectory directory_;
  ViewPtr view_;
  WireEndpoint* endpoint_ = nullptr;
  LiveMembership* life_ = nullptr;  // like endpoint_
  bool done_ = false;               // the program has returned
  LiveEnv* node_env_ = nullptr;
  JobMember member_;
};

Process::Impl::Impl(ProcessOptions options)
    : options_(std::move(options)),
      node_(options_.place.rank),
      who_(this_process()),
      loop_(LoopOptions{.origin = options_.origin,
                        .awake = awake_time(options_.awake == Awake::Loop)}),
      env_(loop_, {.node = node_, .seed = options_.seed, .recorder = &recorder_}),
      net_(loop_, control_options()),
      member_(
          env_, net_,
          options_.etcd.empty()
              ? nullptr
              : &etcd_.emplace(loop_, EtcdOptions{.endpoints = options_.etcd,
                                                  .prefix = "shoal/" + options_.place.job + "/"}),
          member_options()) {
  if (options_.coordinate && options_.etcd.empty()) embedded_.emplace(env_);
  if (options_.compute_thread)
    compute_.emplace(ComputeThreadOptions{.awake = awake_time(options_.awake == Awake::Compute),
                                          .roams = options_.roams,
                                          .seed = Seed(options_.seed.value() + node_.value())});
  io_.emplace();
  if (options_.observer != nullptr) recorder_.observe(*options_.observer);
  loop_.on_stall([this](const auto& waiting) { stalled(waiting); });
}

TcpControlOptions Process::Impl::control_options() const {
  TcpControlOptions control{.token = JobToken::from_hex(options_.token)};
  control.listen = options_.listen;
  if (options_.coordinate) control.port = options_.place.master_port;
  control.log = [this](const std::string& line) { say(line); };
  return control;
}

JobOptions Process::Impl::job_options() const {
  JobOptions job;
  job.job = options_.place.job;
  job.prefix = "";
  job.view = options_.views;
  job.view.expected = options_.place.world;
  job.log = [this](const std::string& line) { say(line); };
  return job;
}

MemberOptions Process::Impl::member_options() {
  MemberOptions member;
  member.role = options_.role;
  member.job = job_options();
  member.node = node_;
  member.host = this_host();
  member.process = who_;
  if (options_.etcd.empty())
    member.coordinator =
        fmt::format("{}:{}", options_.place.master_addr, options_.place.master_port);
  member.on_view = [this](const ViewPtr& view, const Contacts& contacts) {
    directory_.learn(contacts);
    view_ = view;
    if (endpoint_ != nullptr) see_view();
  };
  member.on_fenced = [this](const std::string& why) {
    if (endpoint_ != nullptr) endpoint_->fence(why);
  };
  return member;
}

void Process::Impl::see_view() {
  node_env_->record(view_event(*view_));
  endpoint_->adopt(view_);
}

void Process::Impl::say(const std::string& line) const {
  if (options_.log) fmt::print(stderr, "shoal: node {}: {}\n", node_, line);
}

// Reports a hang: the missing peers, the operation, and the time.
void Process::Impl::stalled(const std::vector<std::string>& waiting) {
  for (const std::string& line : waiting) fmt::print(stderr, "shoal: stalled {}\n", line);
  if (view_ != nullptr) fmt::print(stderr, "shoal: node {}: {}\n", node_, describe(*view_));
  fmt::print(stderr, "{}", recorder_.dump(kDumpEvents));
  // All of them are alive, otherwise they would be out of the view: so ask them.
  if (endpoint_ == nullptr) return;
  endpoint_->ask_missing([this](NodeId peer, const std::string& situation) {
    fmt::print(stderr, "shoal: node {} asked node {} what it does: {}\n", node_, peer, situation);
  });
}

// Describes what this node does, for nodes that wait for it.
std::string Process::Impl::situation() {
  std::string text;
  for (const std::string& line : endpoint_->waiting()) text += (text.empty() ? "" : "; ") + line;
  if (text.empty()) text = "it waits for nobody, so its program computes, sleeps, or is stuck";
  const std::vector<Event> events = recorder_.last(node_);
  if (!events.empty())
    text += fmt::format("; its last event was '{}' {:.1f} s ago", to_string(events.back().kind),
                        seconds(loop_.now() - events.back().at));
  return text;
}

Carriers Process::Impl::make_carriers() {
  Carriers carriers;
  for (const std::string& name : options_.transports) {
    if (name == "shm") {
      ShmOptions shm;
      const JobToken::Proof key = JobToken::from_hex(options_.token).prove("shared memory");
      shm.key.assign(key.begin(), key.end());
      carriers.push_back(make_shm_carrier(loop_, shm));
    } else if (name == "ucx") {
      UcxOptions ucx;
      ucx.listen = options_.listen;
      ucx.lanes = options_.lanes;
      carriers.push_back(make_ucx_carrier(loop_, ucx));
    } else {
      throw ConfigError(fmt::format("unknown transport '{}'; there are shm and ucx", name));
    }
  }
  return carriers;
}

void Process::Impl::run(NodeProgram program) {
  loop_.watch_signal(SIGUSR1, [this] {
    if (endpoint_ != nullptr)
      for (const std::string& line : endpoint_->waiting()) fmt::print(stderr, "{}\n", line);
    fmt::print(stderr, "{}", recorder_.dump(kDumpEvents));
  });
  const CrashHook hook([this] { fmt::print(stderr, "{}", recorder_.dump(kDumpEvents)); });
  run_task(loop_, take_part(std::move(program)));
}

Task<void> Process::Impl::take_part(NodeProgram program) {
  Signal over;
  bool is_over = !embedded_;
  co_await with_group([&](TaskGroup& group) -> Task<> {
    if (embedded_) group.spawn(coordinate_job(over, is_over));
    group.spawn(member_.run());
    if (options_.stop != nullptr) group.spawn(watch_stop());
    co_await lives(program);
    done_ = true;
    // The holder of the job's state stays until the last member has left.
    while (!is_over) co_await over.wait();
  });
}

Task<void> Process::Impl::coordinate_job(Signal& over, bool& is_over) {
  JobOptions job = job_options();
  co_await coordinate(env_, net_, *embedded_, std::move(job), who_);
  is_over = true;
  over.notify_all();
}

// Every incarnation is asked, because the one before may have been evicted before its request was
// heard.
Task<void> Process::Impl::watch_stop() {
  Incarnation asked{};
  while (!done_) {
    if (options_.stop->load(std::memory_order_relaxed)) {
      if (life_ == nullptr && asked == Incarnation(0))
        throw NeverJoined("asked to end before the job had begun");
      if (life_ != nullptr && life_->incarnation() != asked) {
        asked = life_->incarnation();
        life_->end_job(Ending::Stopped, "it was told to stop");
      }
    }
    co_await env_.sleep(kStopLook);
  }
}

Task<void> Process::Impl::lives(const NodeProgram& program) {
  bool done = false;
  while (!done) done = co_await live(program);
}

Task<bool> Process::Impl::live(const NodeProgram& program) {
  Carriers carriers = make_carriers();
  const std::string contact = encode_ways(ways_of(carriers));
  const std::shared_ptr<LiveMembership> life = co_await member_.join(contact);
  const LifeId id{node_, life->incarnation()};
  LiveEnv env(loop_, {.node = node_,
                      .incarnation = id.incarnation,
                      .seed = options_.seed,
                      .compute = compute_ ? &*compute_ : nullptr,
                      .io = io_ ? &*io_ : nullptr,
                      .recorder = &recorder_});
  WireEndpoint endpoint(loop_, env, id, std::move(carriers), directory_);
  // A broken carrier ends this incarnation: the coordinator tells the others.
  endpoint.on_fenced([&](const std::string& why) { life->suspect(node_, why); });
  endpoint.on_question([this] { return situation(); });
  endpoint_ = &endpoint;
  life_ = life.get();
  node_env_ = &env;
  see_view();
  PosixFiles files(env, options_.folder);
  Node node{node_, id.incarnation, env, endpoint, *life, files};

  bool fenced = false;
  std::exception_ptr error;
  try {
    co_await program(node);
  } catch (const Fenced& fenced_out) {
    fenced = true;
    say(fmt::format("evicted: {}; joining again", fenced_out.what()));
  } catch (...) {
    error = std::current_exception();
  }
  if (error) {
    life->fail(error);
  } else if (!fenced) {
    // The others hear of the leave only after they have received the last messages.
    co_await timeout(env, kFarewellLimit, endpoint.deliver_all());
    life->leave();
  }
  endpoint_ = nullptr;
  life_ = nullptr;
  const std::string why = fenced ? "it was evicted" : "its program has ended";
  co_await end(endpoint, why);
  if (error) std::rethrow_exception(error);
  co_return !fenced;
}

// Waits until no peer reads from our ranges.
Task<void> Process::Impl::end(WireEndpoint& endpoint, const std::string& why) {
  Signal quiet;
  bool is_quiet = false;
  endpoint.die(why, [&] {
    is_quiet = true;
    quiet.notify_all();
  });
  while (!is_quiet) co_await quiet.wait();
}

Process::Process(ProcessOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Process::~Process() = default;
void Process::run(NodeProgram program) { impl_->run(std::move(program)); }

namespace {

std::size_t minimum_of(const Lookup& lookup) {
  const auto text = lookup("SHOAL_MINIMUM");
  return text ? parse_rank_count("SHOAL_MINIMUM", *text).most : 1;
}

// If all processes are on one host, only that host can connect; otherwise the network of rank 0.
std::string usual_address(const Place& place) {
  const std::string towards = place.one_host() ? "" : address_towards(place.master_addr);
  return towards.empty() ? "127.0.0.1" : towards;
}

}  // namespace

FromEnvironment process_from_environment(const Lookup& lookup) {
  FromEnvironment result;
  ProcessOptions& o = result.options;
  o.place = place_from_environment(lookup);
  result.secret = find_secret(lookup, o.place);
  o.token = result.secret.token;
  o.etcd = lookup("SHOAL_STORE").value_or("");
  o.listen = lookup("SHOAL_HOST_ADDRESS").value_or(usual_address(o.place));
  // shoal launch runs the coordinator itself, if it can.
  o.views.minimum = minimum_of(lookup);
  o.coordinate = o.etcd.empty() && o.place.rank == 0 && lookup("SHOAL_COORDINATOR") != "launcher";
  return result;
}

}  // namespace shoal
