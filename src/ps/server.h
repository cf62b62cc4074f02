// The server: serves the shards of which it is the head, and follows the holder before it in the
// chains of the others. Li et al., "Scaling Distributed Machine Learning with the Parameter
// Server", OSDI 2014; chain replication: van Renesse & Schneider, OSDI 2004.
//
//   head, on a push:    read the gradient where it lies; wait until it is admitted
//                       a record is made of it, applied, and sent to the next holder
//                       answer when the last holder has it, and the gate lets the worker read;
//                       parameters follow in pieces, each as soon as the update has made it
//   holder, on a record: apply it; send it on; tell the one before when the next has it
//   next holder changed: it gets everything, and from then on records again
//
// Symbols: S servers, R copies, N parameters; consistency.h has the gates.
// Cost of a push and a read, of all shards: 2S messages of N/S to and from the worker; R - 1 more
//   of N/S for each shard; the update of N/S at each holder.
// Deviations: a read is answered by the head, not by the last holder: it may see a push that is not
//   acknowledged yet, and that is made again if all who had it are lost.
// Failure: a push that was acknowledged is at every holder; it is lost only with all of them, and
//   then the shard is loaded as it was saved last. A push is known by (worker, life, clock), and is
//   applied once however often it is sent. Who is lost is missed by nobody: gates count the clocks
//   of the view's workers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/types.h"
#include "encoded/message.h"
#include "ps/client.h"
#include "ps/consistency.h"
#include "ps/epoch_summary.h"
#include "ps/options.h"
#include "ps/pushed_part.h"
#include "ps/shard_directories.h"
#include "ps/shard_state.h"
#include "ps/slots.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "runtime/task_group.h"

namespace shoal {

struct ServerOptions {
  ParameterServerOptions ps;
  Elements rest{};                            // of the model's state, beside the parameters
  std::shared_ptr<const MessageForm> form{};  // of pushes that are encoded
};

// What a server needs of those above it.
class ShardLoader {
 public:
  virtual ~ShardLoader() = default;
  // The state of a shard that nobody has, into a new one: as it was saved, or as it begins.
  virtual Task<void> load(ShardState& shard) = 0;
};

class Server {
 public:
  Server(Node& node, ShardDirectories& directories, std::vector<ShardCut> cuts, Substance substance,
         const UpdatePlan& plan, const SampleScheduler& scheduler, ShardLoader& origin,
         ServerOptions options);

  // Serves until it is cancelled. It must live until kServing is retired for good.
  Task<void> run();
  std::vector<Holding> holdings() const;

 private:
  struct HostedShard {
    std::uint32_t number = 0;
    Generation directory;  // that the chain is from
    Chain chain;
    bool ours = false;   // the state is here, or comes from where no server has it
    bool ready = false;  // it is here
    std::unique_ptr<ShardState> state;
    Holder next{};             // to whom records are sent; nobody: this is the last holder
    std::uint64_t at_all = 0;  // records that this holder and all after it have
    bool busy = false;         // somebody changes it
    bool followed = false;     // records of the holder before are taken, and news of the next
    bool measuring = false;    // norms for the next update: no push may come to those that wait
    bool moving = false;       // an update goes on: its records are made, its parameters not all
    // Pushes that wait for their turn, by the clock of the worker: the one that is furthest behind
    // goes first.
    std::multiset<std::uint64_t> waiting{};
    Signal changed;
    // Of its head, for as long as it is one: what each worker has read last, and the mean square of
    // its gradients. Who becomes head begins anew.
    std::map<NodeId, std::shared_ptr<Version>> read{};
    std::vector<float> mean_square{};
    // The keys of the last part that each worker sent here with them.
    std::map<Holder, Keys> keys{};
    // Pushes that were announced and are not in yet, by who asks and the request's number: in which
    // order they came. Where reads wait for them.
    std::map<std::pair<NodeId, std::uint64_t>, std::uint64_t> announced{};
    std::uint64_t announcements = 0;
    // What this head has measured, by version and round.
    std::map<std::pair<std::uint64_t, unsigned>, Sums> measured{};
    Record incoming;         // from the holder before
    std::uint64_t news = 0;  // from the next one: so many records are at all after
  };
  // A record on its way to the next holder, with what belongs to it.
  struct Outgoing {
    Record record;
    std::shared_ptr<Version> parameters{};
    std::vector<float> slots{};
    std::vector<std::uint64_t> words{};
    std::vector<Gradient> gradients{};
  };
  // Whoever holds it may change the shard; let go of when it goes.
  class Turn {
   public:
    explicit Turn(HostedShard& held) : held_(&held) { held.busy = true; }
    Turn(Turn&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (held_ == nullptr) return;
      held_->busy = false;
      held_->changed.notify_all();
    }

   private:
    HostedShard* held_;
  };

  Holder self() const { return {node_.id, node_.incarnation}; }
  bool is_head(const HostedShard& held) const {
    return held.ready && held.chain.holders[0] == self();
  }

  // ---- Requests
  Task<void> take_requests(TaskGroup& tasks);
  Task<void> serve(NodeId from, Ask ask, TaskGroup& tasks);
  Task<void> answer(NodeId from, Ask ask, std::optional<Gradient> gradient, TaskGroup& tasks);
  Task<void> answer_enter(NodeId from, Ask ask, TaskGroup& tasks);
  Task<void> answer_leave(NodeId from, Ask ask, TaskGroup& tasks);
  Task<void> answer_train(NodeId from, Ask ask, std::optional<Gradient> gradient, TaskGroup& tasks);
  Task<void> answer_follow(NodeId from, Ask ask);
  Task<void> answer_task(NodeId from, Ask ask, std::optional<Gradient> rest, TaskGroup& tasks);
  Task<void> answer_lost_push_query(NodeId from, Ask ask);
  Task<void> answer_snapshot(NodeId from, Ask ask);
  Task<void> answer_sums(NodeId from, Ask ask);
  Task<Admission> admitted(HostedShard& held, const Ask& ask, double change);
  Task<std::optional<Gradient>> formed(NodeId from, const Ask& ask, Gradient packed);
  Task<Gradient> nothing(std::uint32_t shard);
  Task<Gradient> formed_of_factors(std::uint32_t shard, const Gradient& packed);
  Task<std::optional<Gradient>> formed_of_part(NodeId from, const Ask& ask, const Gradient& packed);
  Task<Gradient> formed_of_encoded(NodeId from, std::uint32_t shard, const Gradient& message);
  Task<Gradient> copy_of(const Gradient& gradient);
  Task<Gradient> compensated(HostedShard& held, const Ask& ask, Gradient gradient);
  Task<double> change_by(const Ask& ask, const std::optional<Gradient>& gradient);
  void enter(HostedShard& held, const Ask& ask, TaskGroup& tasks);
  Task<bool> enter_for_samples(HostedShard& held, const Ask& ask, Answer& answer, TaskGroup& tasks);
  Task<void> push(HostedShard& held, const Ask& ask, std::optional<Gradient> gradient,
                  Answer& answer, TaskGroup& tasks);
  Task<bool> share(HostedShard& held, const Ask& ask, Answer& answer, TaskGroup& tasks);
  void deal(HostedShard& held, const Ask& ask, TaskGroup& tasks);
  void stop_if_asked(HostedShard& held, const Ask& ask, TaskGroup& tasks);
  bool all_are_in() const;
  std::uint64_t workers() const;  // of the view; a group is one
  bool warming_up(const HostedShard& held) const;
  bool goes_first(NodeId worker) const;
  static bool is_awaited(const HostedShard& held, std::uint64_t before);
  std::uint64_t least_of(const HostedShard& held, std::uint64_t otherwise) const;
  bool left_open(const HostedShard& held, NodeId worker, Incarnation life) const;
  Task<void> until_at_all(HostedShard& held);
  // Of somebody who is in, for as long as it lives.
  class Asking {
   public:
    Asking(Server& server, Holder who, std::uint64_t share) : server_(server), who_(who) {
      server_.asking_[who_] = share;
    }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;
    ~Asking() { server_.asking_.erase(who_); }

   private:
    Server& server_;
    Holder who_;
  };
  // A push that is on its way, from when it was announced until it is in or will never be.
  class Announced {
   public:
    Announced(HostedShard& held, NodeId from, std::uint64_t number)
        : held_(held), key_(from, number) {
      held_.announced[key_] = held_.announcements++;
    }
    Announced(const Announced&) = delete;
    Announced& operator=(const Announced&) = delete;
    ~Announced() {
      if (held_.announced.erase(key_) > 0) held_.changed.notify_all();
    }

   private:
    HostedShard& held_;
    std::pair<NodeId, std::uint64_t> key_;
  };
  // What comes with an answer, as long as it is read.
  struct Payload {
    std::shared_ptr<Version> parameters{};
    Range slots{};
    std::shared_ptr<const std::vector<float>> rest{};
    std::shared_ptr<const std::vector<std::uint64_t>> news{};
  };
  Task<void> reply(NodeId from, const Ask& ask, Answer answer);
  Task<void> reply(NodeId from, const Ask& ask, Answer answer, Payload payload);
  Task<void> publish_as_made(NodeId to, Tag tag, Version& version, TaskGroup& tasks);
  Task<void> publish_encoded(NodeId to, Tag tag, Answer answer, std::uint32_t shard,
                             Version& version, TaskGroup& tasks);
  Task<ConstBuf> encoded_piece(std::uint64_t number, std::uint32_t shard, std::uint64_t piece,
                               Version& version);
  ClockTable table_of(const HostedShard& held) const;
  bool may_read_now(HostedShard& held, std::uint64_t clock) const;
  void record_read(const HostedShard& held, NodeId reader, std::uint64_t clock);

  // ---- Records
  // Nobody may change anything but the samples' shares while an update goes on.
  static bool at_work(const HostedShard& held) { return held.busy || held.moving; }
  Task<Turn> turn(HostedShard& held);
  Task<Turn> turn_of_push(HostedShard& held, std::uint64_t clock);
  // Norms that are being measured may be waiting for a push of this worker to another shard, before
  // which it reads here.
  Task<Turn> turn_of(HostedShard& held, const Ask& ask) {
    return ask.samples > 0 ? turn_of_push(held, ask.clock) : turn(held);
  }
  void commit(HostedShard& held, Record record, TaskGroup& tasks);
  void commit(HostedShard& held, Record record, std::optional<Gradient> gradient, TaskGroup& tasks);
  void make(HostedShard& held, Record record, std::optional<Gradient> gradient, TaskGroup& tasks);
  static Task<void> run_update(HostedShard& held);
  Task<void> forward(HostedShard& held, Holder next, Outgoing& out);
  Task<void> take_records(HostedShard& held, TaskGroup& tasks);
  Task<void> take_news(HostedShard& held);
  Task<void> follow_record(HostedShard& held, Holder from, Record record, TaskGroup& tasks);
  Task<void> become_whole(HostedShard& held, const Record& record, std::vector<Gradient> parts,
                          TaskGroup& tasks);
  Task<void> tell(HostedShard& held, Holder before, std::uint64_t sequence);
  Task<Gradient> part(Holder from, std::uint64_t number);
  void make_state(HostedShard& held);

  // ---- Views
  Task<void> follow_directories(TaskGroup& tasks);
  Task<void> adopt(HostedShard& held, const ShardDirectory& directory, TaskGroup& tasks);
  void connect(HostedShard& held, TaskGroup& tasks);
  Task<void> watch_views();
  void complete_if_due(HostedShard& held, TaskGroup& tasks);

  // ---- Rounds
  bool in_rounds() const { return plan_.shards > 0; }
  void push_sum(HostedShard& held, const Ask& ask, std::optional<Gradient> gradient, Answer& answer,
                TaskGroup& tasks);
  void recall_round(HostedShard& held, const Ask& ask, TaskGroup& tasks);
  bool may_read_round(HostedShard& held, std::uint64_t clock) const;
  const RoundPiece* left_behind(const HostedShard& held) const;
  Task<bool> share_of_round(HostedShard& held, const Ask& ask, Answer& answer, TaskGroup& tasks);
  void tell_piece(const Round& round, const RoundPiece& piece, Answer& answer) const;
  void deal_round(HostedShard& held, const Ask& ask, TaskGroup& tasks);
  void commit_pieces(HostedShard& held, Record record, std::span<const RoundPiece> pieces,
                     TaskGroup& tasks);
  Task<void> answer_follow_round(NodeId from, Ask ask);
  Task<void> bury_lost_pieces(HostedShard& held, TaskGroup& tasks);

  // ---- Norms
  void begin_measuring(HostedShard& held, TaskGroup& tasks);
  Task<void> complete_with_norms(HostedShard& held, TaskGroup& tasks);
  Task<bool> hear_of_all(HostedShard& held, std::uint64_t version, unsigned round, bool alone,
                         Sums& total);
  Task<void> hear_of(std::uint32_t shard, std::uint64_t version, unsigned round,
                     std::vector<std::uint64_t>& words);
  bool is_due(const HostedShard& held) const;
  Task<void> complete_without_lost(HostedShard& held, TaskGroup& tasks);
  Task<void> bury_lost(HostedShard& held, TaskGroup& tasks);
  // Whether something of what is in a worker's pushes may still wait there.
  bool held_back() const {
    return holds_back(options_.ps.filter) ||
           (options_.form != nullptr && options_.form->keeps_residual());
  }

  Node& node_;
  ShardDirectories& directories_;
  std::vector<ShardCut> cuts_;
  Substance substance_;
  const UpdatePlan& plan_;
  SampleScheduler scheduler_;  // as it begins
  ShardLoader& origin_;
  ServerOptions options_;
  std::unique_ptr<Codec> pulls_;  // null: parameters go as they are
  Client client_;
  std::vector<HostedShard> held_;
  std::map<std::uint32_t, Holder> tasks_;   // by block, who is out for it
  std::map<Holder, std::uint64_t> asking_;  // for a share, and which, of those who are in
  Ask incoming_;
  Slots<Answer> answers_;
  Slots<Outgoing> outgoing_;
  Slots<std::uint64_t> news_;
};

}  // namespace shoal
