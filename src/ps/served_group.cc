#include "ps/served_group.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "collective/reduce.h"
#include "ps/client.h"
#include "ps/shard_directories.h"
#include "runtime/task_group.h"

namespace shoal {

ServedGroup::ServedGroup(const ServedContext& context, Compute compute)
    : node_(context.node),
      replica_(context.replica),
      context_(context),
      compute_(std::move(compute)),
      leaf_(node_, replica_.N, replica_.g().phantom() ? Substance::Phantom : Substance::Real),
      number_(std::uint64_t{node_.incarnation.value()} << 38U) {}

bool ServedGroup::leads() const {
  return leader_of(node_.membership.now(), context_.recipe.ps.groups, node_.id) == node_.id;
}

// ---- As leader

Task<void> ServedGroup::serve() {
  co_await with_group([this](TaskGroup& tasks) -> Task<> {
    tasks.spawn(watch_views());
    while (true) {
      const Match match{.from = kAnyone, .tag = tag_of(MessageKind::Help, 0)};
      const Received received = co_await node_.endpoint.recv(match, mut_buf(incoming_));
      require_size(received, Bytes(sizeof incoming_));
      const Help help = incoming_;
      tasks.spawn(answer(received.from, help));
    }
  });
}

Task<void> ServedGroup::watch_views() {
  Generation last{};
  while (true) {
    const ViewPtr view = co_await node_.membership.after(last);
    last = view->generation;
    give_up_lost();
    changed_.notify_all();
  }
}

void ServedGroup::open() {
  open_ = true;
  over_.reset();
}

void ServedGroup::close() {
  open_ = false;
  changed_.notify_all();
}

void ServedGroup::epoch_over(std::uint64_t epoch) {
  over_ = epoch;
  changed_.notify_all();
}

ServedGroup::Piece* ServedGroup::find(Piece::State state) {
  const auto it = std::ranges::find(pieces_, state, &Piece::state);
  return it == pieces_.end() ? nullptr : &*it;
}

void ServedGroup::give_up_lost() {
  for (Piece& piece : pieces_) {
    if (piece.state != Piece::State::Out ||
        node_.membership.now().has(piece.member.node, piece.member.life))
      continue;
    node_.env.probe("ps: a piece of a lost member");
    piece.state = Piece::State::Free;
  }
}

// A piece has a worker's samples at most, and each member gets one at least.
void ServedGroup::cut(const Share& share) {
  const View& view = node_.membership.now();
  const std::uint64_t members = members_of(view, context_.recipe.ps.groups, node_.id);
  const std::uint64_t full = (share.n + context_.task.batch - 1) / context_.task.batch;
  const std::uint64_t count = std::max(std::min(members, share.n), full);
  pieces_.clear();
  for (std::uint64_t i = 0, at = share.at; i < count; ++i) {
    const std::uint64_t n = share.n / count + (i < share.n % count ? 1 : 0);
    pieces_.push_back({{share.epoch, at, n}});
    at += n;
  }
}

Task<void> ServedGroup::gradient(Round round, Range sum, StepReport& report) {
  if (writes_back()) co_await leaf_.begin(replica_.parameters(), sum);
  round_ = round;
  ++rounds_;
  cut(round.pass.share);
  changed_.notify_all();
  bool begun = false;
  while (true) {
    give_up_lost();
    const Time begin = node_.env.now();
    if (Piece* const piece = find(Piece::State::Free)) {
      piece->state = Piece::State::Ours;
      const Pass pass{piece->share, round.pass.step};
      co_await compute_own(pass, sum, begun, report.own);
      begun = true;
      report.compute += node_.env.now() - begin;
    } else if (find(Piece::State::Out) != nullptr || !leaf_.idle()) {
      co_await changed_.wait();
      report.wait += node_.env.now() - begin;
    } else {
      break;
    }
  }
  if (!writes_back()) co_await add_up(sum);
  pieces_.clear();
}

// The first goes to the sum where it will be, and later ones are added to it.
Task<void> ServedGroup::compute_own(Pass pass, Range sum, bool begun, Score& score) {
  const bool beside = begun || writes_back();
  const Substance substance = sum.data().empty() ? Substance::Phantom : Substance::Real;
  if (beside && !spare_) spare_.emplace(sum.n, substance);
  const Range into = beside ? spare_->all() : sum;
  if (begun && writes_back()) co_await leaf_.copy_to(replica_.parameters());
  note_use(node_.id);
  co_await compute_(pass, into, score);
  if (writes_back()) {
    co_await leaf_.absorb(into.data().data(), leaf_step());
  } else if (begun) {
    node_.env.probe("ps: a piece that nobody asked for");
    std::vector<const float*> terms;
    if (substance == Substance::Real) terms = {sum.data().data(), into.data().data()};
    co_await sum_up(node_.env, sum, 2, std::move(terms));
  }
}

// In the order of the pieces, so that it does not depend on who was first.
Task<void> ServedGroup::add_up(Range sum) {
  std::vector<const float*> terms{sum.data().data()};
  for (const Piece& piece : pieces_)
    if (piece.state == Piece::State::There)
      terms.push_back(reinterpret_cast<const float*>(piece.gradient.bytes.data));
  const std::uint64_t count = terms.size();
  if (sum.data().empty()) terms.clear();
  if (count > 1) co_await sum_up(node_.env, sum, count, std::move(terms));
}

// As the servers will move, if nobody else does.
UpdateStep ServedGroup::leaf_step() const {
  const double samples = context_.mean ? static_cast<double>(round_.pass.share.n) : 1;
  return {round_.eta, 1, samples};
}

// Who is lost gets no answer.
Task<void> ServedGroup::answer(NodeId from, Help help) {
  const Holder member{from, help.life};
  if (help.stops != Ending::No) stops_ = help.stops;
  try {
    // It may know of a view that has not come here yet.
    while (node_.membership.now().generation < help.view) co_await changed_.wait();
    if (help.brings != 0) co_await take_gradient(member, help);
    std::optional<Order> order = order_for(member, help);
    while (!order) {
      co_await changed_.wait();
      order = order_for(member, help);
    }
    co_await reply(member, help.number, *order);
  } catch (const PeerLost& lost) {
    if (lost.peer() != from) throw;
    for (Piece& piece : pieces_)
      if (piece.state == Piece::State::Out && piece.member == member)
        piece.state = Piece::State::Free;
    changed_.notify_all();
  }
}

Task<void> ServedGroup::take_gradient(Holder member, Help help) {
  require_present(node_, member);
  const Match match{.from = member.node, .tag = tag_of(MessageKind::PieceGradient, help.number)};
  auto there = std::make_shared<Reading>(co_await node_.endpoint.read(match));
  require_size(*there, replica_.g().bytes().size);
  const bool awaited = help.round == rounds_ && help.piece < pieces_.size() &&
                       pieces_[help.piece].state == Piece::State::Out &&
                       pieces_[help.piece].member == member;
  if (!awaited) {
    node_.env.probe("ps: a gradient of a piece that another one has");
    co_return;
  }
  Piece& piece = pieces_[help.piece];
  piece.state = Piece::State::There;
  if (writes_back()) {
    co_await leaf_.absorb(reinterpret_cast<const float*>(there->data().data), leaf_step());
  } else {
    piece.gradient = {there->data(), there};
  }
  changed_.notify_all();
}

// Nothing: it has to wait.
std::optional<ServedGroup::Order> ServedGroup::order_for(Holder member, const Help& help) {
  require_present(node_, member);
  const View& view = node_.membership.now();
  Order order;
  order.ended = round_.ended;
  // Where its gradient of this round is still read it has no place for another.
  const bool done = !writes_back() && std::ranges::any_of(pieces_, [&](const Piece& p) {
    return p.state == Piece::State::There && p.member == member;
  });
  Piece* const piece = find(Piece::State::Free);
  if (piece != nullptr && !done) {
    piece->state = Piece::State::Out;
    piece->member = member;
    order.kind = Order::Kind::Compute;
    order.round = rounds_;
    order.piece = static_cast<std::uint64_t>(piece - pieces_.data());
    order.pass = {piece->share, round_.pass.step};
    order.version = round_.version;
    order.eta = round_.eta;
    note_use(member.node);
    return order;
  }
  if (over_ && help.epoch <= *over_) {
    order.kind = Order::Kind::Over;
    order.epoch = *over_;
    return order;
  }
  const bool ours = leader_of(view, context_.recipe.ps.groups, member.node) == node_.id;
  if (!open_ && !ours) return order;
  return {};
}

Task<void> ServedGroup::reply(Holder member, std::uint64_t number, Order order) {
  Order& out = orders_.take(order);
  const std::shared_ptr<Arena> leaf = leaf_.parameters();
  const ConstBuf w = leaf ? leaf->bytes() : replica_.parameters().bytes();
  std::optional<PeerLost> lost;
  try {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      Endpoint& endpoint = node_.endpoint;
      tasks.spawn(
          as_task(endpoint.send(member.node, tag_of(MessageKind::Order, number), const_buf(out))));
      const Tag tag = tag_of(MessageKind::PieceParameters, number);
      if (order.kind == Order::Kind::Compute)
        tasks.spawn(as_task(endpoint.publish(member.node, tag, w)));
      co_return;
    });
  } catch (const PeerLost& error) {
    lost = error;
  }
  orders_.give_back(out);
  if (lost) throw PeerLost(*lost);
}

// That the bound holds for each member, also those whom the servers do not know.
void ServedGroup::note_use(NodeId member) const {
  const ParameterServerOptions& ps = context_.recipe.ps;
  const std::optional<std::uint64_t> bound = staleness_bound(ps.consistency);
  if (!are_formed(ps.groups) || steps_of(ps.fetch) > 1 || moves_in_step(ps.consistency) || !bound)
    return;
  Event event;
  event.kind = EventKind::ReadServed;
  event.peer = member;
  event.group = kServing;
  event.a = round_.pass.step.value();
  event.b = round_.least;
  event.c = *bound;
  node_.env.record(event);
}

}  // namespace shoal
