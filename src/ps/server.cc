#include "ps/server.h"

#include <fmt/core.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace shoal {
namespace {

// A push that was announced, as long as it is on its way.
class Announcement {
 public:
  Announcement(HostedShard& shard, AnnouncedPushes::Key key) : shard_(shard), key_(key) {
    shard_.announced.announce(key_);
  }
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;
  ~Announcement() {
    if (shard_.announced.end(key_)) shard_.changed.notify_all();
  }

 private:
  HostedShard& shard_;
  AnnouncedPushes::Key key_;
};

}  // namespace

Server::Server(Node& node, ShardDirectories& directories, std::vector<ShardCut> cuts,
               Substance substance, const UpdatePlan& plan, const SampleScheduler& scheduler,
               ShardLoader& loader, ServerOptions options)
    : directories_(directories),
      context_{node, cuts, substance, plan, options, std::vector<HostedShard>(cuts.size())},
      client_(node, directories, Role::Server),
      chain_(context_, scheduler, loader),
      answers_(context_),
      forms_(context_),
      norms_(context_, chain_, answers_, client_),
      workers_(context_, chain_, answers_, norms_),
      shares_(context_, chain_, workers_, client_),
      rounds_(context_, chain_, answers_, workers_),
      steps_(context_, chain_, answers_, workers_, shares_, norms_),
      epoch_ends_(context_, chain_, answers_) {
  for (std::uint32_t k = 0; k < cuts.size(); ++k) context_.shards[k].number = k;
}

std::vector<Holding> Server::holdings() const {
  std::vector<Holding> all;
  for (const HostedShard& shard : context_.shards)
    if (shard.ours) all.push_back({context_.self(), shard.number, shard.chain});
  return all;
}

Task<void> Server::run() {
  co_await with_group([this](TaskGroup& tasks) -> Task<> {
    context_.tasks = &tasks;
    tasks.spawn(follow_directories());
    tasks.spawn(watch_views());
    tasks.spawn(take_requests());
    co_return;
  });
}

// ---- Requests

Task<void> Server::take_requests() {
  while (true) {
    const Match match{.from = kAnyone, .tag = tag_of(MessageKind::Request, 0)};
    const Received received = co_await context_.node.endpoint.recv(match, incoming_.room());
    require_size(received, incoming_.room().size);
    const AnyRequest request = incoming_.message(received.from);
    const std::uint32_t shard = header_of(request).shard;
    if (shard >= context_.shards.size())
      throw Corrupt(fmt::format("node {} asks for shard {} of {}", received.from, shard,
                                context_.shards.size()));
    context_.spawn(serve(received.from, request));
  }
}

// A node that is lost gets no answer.
Task<void> Server::serve(NodeId from, AnyRequest request) {
  const RequestHeader header = header_of(request);
  const Attachment attachment = attachment_of(request);
  const Holder sender{from, header.life};
  try {
    std::optional<Gradient> part;
    std::optional<Announcement> announcement;
    if (context_.options.ps.barrier && attachment.gradient)
      announcement.emplace(context_.shards[header.shard],
                           AnnouncedPushes::Key(from, header.number));
    if (attachment.sent()) {
      require_present(context_.node, sender);
      const Match match{.from = from, .tag = tag_of(MessageKind::Gradient, header.number)};
      auto there = std::make_shared<Reading>(co_await context_.node.endpoint.read(match));
      const Elements n =
          attachment.buffers ? context_.options.buffers : context_.cuts[header.shard].n;
      const bool plain = attachment.form.plain();
      if (plain) require_size(*there, Bytes(n.value() * sizeof(float)));
      part = Gradient{there->data(), there};
      if (!plain) part = co_await forms_.dense(sender, header.shard, attachment.form, *part);
    } else if (attachment.gradient) {
      const Gradient none;
      part = co_await forms_.dense(sender, header.shard, attachment.form, none);
    }
    if (attachment.gradient && !part)
      co_return co_await refuse(from, request, RequestOutcome::KeysUnknown);
    co_await dispatch(from, request, std::move(part));
  } catch (const PeerLost& lost) {
    if (lost.peer() != from) throw;
  }
}

Task<void> Server::refuse(NodeId from, const AnyRequest& request, RequestOutcome outcome) {
  const auto reply = [&](const auto& message) {
    typename std::decay_t<decltype(message)>::Answer answer;
    answer.header.outcome = outcome;
    return answers_.reply(from, message, answer);
  };
  return std::visit(reply, request);
}

// Each kind of request has one handler.
Task<void> Server::dispatch(NodeId from, AnyRequest request, std::optional<Gradient> part) {
  HostedShard& shard = context_.shards[header_of(request).shard];
  // The sender may know of a view that has not come here yet.
  while (shard.directory < header_of(request).directory) co_await shard.changed.wait();
  while (shard.chain.n > 0 && shard.chain.holders[0] == context_.self() && !shard.ready)
    co_await shard.changed.wait();
  if (!context_.is_head(shard)) co_return co_await refuse(from, request, RequestOutcome::NotHere);
  struct Handlers {
    Server& server;
    NodeId from;
    std::optional<Gradient>& part;

    Task<void> operator()(const EnterRequest& r) const { return server.workers_.answer(from, r); }
    Task<void> operator()(const RegisterRequest& r) const {
      return server.workers_.answer(from, r);
    }
    Task<void> operator()(const LeaveRequest& r) const { return server.workers_.answer(from, r); }
    Task<void> operator()(const LostPushQuery& r) const { return server.workers_.answer(from, r); }
    Task<void> operator()(const TrainRequest& r) const {
      return server.steps_.answer(from, r, std::move(part));
    }
    Task<void> operator()(const FollowRequest& r) const { return server.steps_.answer(from, r); }
    Task<void> operator()(const PieceRequest& r) const { return server.rounds_.answer(from, r); }
    Task<void> operator()(const PushSumRequest& r) const {
      return server.rounds_.answer(from, r, std::move(part));
    }
    Task<void> operator()(const LostPieceRequest& r) const {
      return server.rounds_.answer(from, r);
    }
    Task<void> operator()(const EndOfEpochRequest& r) const {
      return server.epoch_ends_.answer(from, r, std::move(part));
    }
    Task<void> operator()(const SnapshotRequest& r) const {
      return server.epoch_ends_.answer(from, r);
    }
    Task<void> operator()(const SumsRequest& r) const { return server.norms_.answer(from, r); }
  };
  const Handlers handlers{*this, from, part};
  co_await std::visit(handlers, request);
}

// ---- Views

Task<void> Server::follow_directories() {
  Generation last{};
  while (true) {
    co_await directories_.after(last);
    const ShardDirectory directory = directories_.now();
    last = directory.generation;
    for (HostedShard& shard : context_.shards) {
      co_await chain_.adopt(shard, directory);
      forms_.forget_lost(shard.number);
      steps_.forget_lost(shard);
      context_.spawn(norms_.complete_without_lost(shard));
    }
    if (context_.in_rounds()) {
      context_.spawn(rounds_.bury_lost_pieces(context_.shards.front()));
    } else {
      context_.spawn(shares_.bury_lost(context_.shards.front()));
    }
  }
}

// Gates look at the view.
Task<void> Server::watch_views() {
  Generation last{};
  while (true) {
    const ViewPtr view = co_await context_.node.membership.after(last);
    last = view->generation;
    for (HostedShard& shard : context_.shards) shard.changed.notify_all();
  }
}

}  // namespace shoal
