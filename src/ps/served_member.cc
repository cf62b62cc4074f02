// Half of a group: what a member does that does not lead it.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ps/client.h"
#include "ps/served_group.h"
#include "ps/shard_directories.h"
#include "runtime/task_group.h"

namespace shoal {

Holder ServedGroup::leader() const {
  const View& view = node_.membership.now();
  const NodeId node = leader_of(view, context_.recipe.ps.groups, node_.id);
  const Member* const member = view.find(node);
  return {node, member == nullptr ? Incarnation() : member->incarnation};
}

Task<std::optional<std::uint64_t>> ServedGroup::help(std::uint64_t epoch, Journal* journal) {
  std::optional<Made> made;
  while (!leads()) {
    const Generation view = node_.membership.now().generation;
    // What was made for one who leads no more is still his.
    if (made && !node_.membership.now().has(made->leader.node, made->leader.life)) made.reset();
    const Holder to = made ? made->leader : leader();
    Help help;
    help.number = number_++;
    help.life = node_.incarnation;
    help.view = view;
    help.epoch = epoch;
    help.stops = journal == nullptr ? Ending::No : journal->leave();
    help.brings = made ? 1 : 0;
    if (made) {
      help.round = made->order.round;
      help.piece = made->order.piece;
    }
    std::optional<Order> order;
    std::optional<PeerLost> lost;
    try {
      order = co_await ask(to, help);
    } catch (const PeerLost& error) {
      lost = error;
    }
    if (lost) {
      node_.env.probe("ps: the leader of a group was lost");
      if (node_.membership.now().has(to.node, to.life))
        node_.membership.suspect(to.node, lost->what());
      made.reset();
      co_await node_.membership.after(view);
      continue;
    }
    if (made) {
      made->report.wait = node_.env.now() - made->done;
      made->report.samples = order->ended - std::min(order->ended, ended_.value_or(order->ended));
      if (journal != nullptr) co_await journal->step_done(made->report);
      made.reset();
    }
    ended_ = order->ended;
    if (order->kind == Order::Kind::Over) co_return order->epoch;
    if (order->kind == Order::Kind::NotHere) {
      // By a view that comes here too.
      if (to == leader()) co_await node_.membership.after(view);
      continue;
    }
    made.emplace();
    made->leader = to;
    made->order = *order;
    StepReport& report = made->report;
    report.step = report.read = Step(order->version);
    report.epoch = order->pass.share.epoch;
    report.eta = order->eta;
    const Time begin = node_.env.now();
    co_await compute_(order->pass, replica_.g().all(), report.own);
    made->done = node_.env.now();
    report.compute = made->done - begin;
  }
  co_return std::nullopt;
}

// Lost: the leader may still write there, and read the gradient.
Task<ServedGroup::Order> ServedGroup::ask(Holder leader, Help help) {
  const Call blank{help, {}};
  Call& call = calls_.take(blank);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    require_present(node_, leader);
    Endpoint& endpoint = node_.endpoint;
    tasks.spawn(
        as_task(endpoint.send(leader.node, tag_of(MessageKind::Help, 0), const_buf(call.help))));
    const Tag tag = tag_of(MessageKind::PieceGradient, help.number);
    const ConstBuf g = replica_.g().bytes();
    if (help.brings != 0) tasks.spawn(as_task(endpoint.publish(leader.node, tag, g)));
    tasks.spawn(take_order(call, leader));
    co_return;
  });
  const Order order = call.order;
  calls_.give_back(call);
  co_return order;
}

Task<void> ServedGroup::take_order(Call& call, Holder leader) {
  const std::uint64_t number = call.help.number;
  require_present(node_, leader);
  const Match match{.from = leader.node, .tag = tag_of(MessageKind::Order, number)};
  const Received received = co_await node_.endpoint.recv(match, mut_buf(call.order));
  require_size(received, Bytes(sizeof call.order));
  if (call.order.kind == Order::Kind::Compute)
    co_await take_range(node_, leader, tag_of(MessageKind::PieceParameters, number),
                        replica_.parameters());
}

}  // namespace shoal
