// A fifth of a server: the chain of holders, and what becomes of it from view to view.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "ps/server.h"

namespace shoal {
namespace {

constexpr std::uint64_t kParts = 3;  // of a whole shard, before the pushes that wait

constexpr std::uint64_t kPartsMax = 4096;

// A gradient, the rest of the state, the norms of an update, or the pieces of a round.
bool has_part(const Record& record) {
  const bool may = record.kind == Record::Kind::Complete || record.kind == Record::Kind::Deal;
  return record.kind == Record::Kind::Push || record.kind == Record::Kind::Rest ||
         (may && record.samples > 0);
}

// A whole shard has the number of the last record that is in it.
std::uint64_t part_number(std::uint32_t shard, std::uint64_t sequence, bool whole,
                          std::uint64_t part) {
  return (std::uint64_t{shard} << 44U) + (sequence * 2 + (whole ? 1 : 0)) * kPartsMax + part;
}
}  // namespace

// ---- Records

Task<Server::Turn> Server::turn(HostedShard& held) {
  while (at_work(held)) co_await held.changed.wait();
  co_return Turn(held);
}

Task<Server::Turn> Server::turn_of_push(HostedShard& held, std::uint64_t clock) {
  struct Waiting {
    HostedShard& held;
    std::multiset<std::uint64_t>::iterator at;
    ~Waiting() { held.waiting.erase(at); }
  };
  const Waiting waiting{held, held.waiting.insert(clock)};
  while (at_work(held) || held.measuring || *held.waiting.begin() < clock)
    co_await held.changed.wait();
  co_return Turn(held);
}

// REQUIRES: it is this one's turn, and this is the head.
void Server::commit(HostedShard& held, Record record, TaskGroup& tasks) {
  commit(held, record, std::nullopt, tasks);
}

void Server::commit(HostedShard& held, Record record, std::optional<Gradient> gradient,
                    TaskGroup& tasks) {
  record.sequence = held.state->sequence() + 1;
  record.directory = held.directory;
  make(held, record, std::move(gradient), tasks);
}

void Server::make(HostedShard& held, Record record, std::optional<Gradient> gradient,
                  TaskGroup& tasks) {
  std::optional<Gradient> own = gradient;
  if (held.state->apply(record, std::move(own))) {
    held.moving = true;
    tasks.spawn(run_update(held));
  }
  if (held.next.node == kNobody) {
    held.at_all = record.sequence;
  } else {
    Outgoing& out = outgoing_.take({record});
    if (gradient) out.gradients.push_back(std::move(*gradient));
    tasks.spawn(forward(held, held.next, out));
  }
}

// REQUIRES: nobody changes the shard's parameters or lets go of it until it is done.
Task<void> Server::run_update(HostedShard& held) {
  co_await held.state->update();
  held.moving = false;
  held.changed.notify_all();
}

// Whoever is lost is missed when the next directory comes: the one after it gets everything.
Task<void> Server::forward(HostedShard& held, Holder next, Outgoing& out) {
  out.record.sender = node_.incarnation;
  try {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      require_present(node_, next);  // before anything is sent to another life
      Endpoint& endpoint = node_.endpoint;
      const bool whole = out.record.kind == Record::Kind::Whole;
      std::uint64_t part = 0;
      const auto publish = [&](ConstBuf bytes) {
        const std::uint64_t number = part_number(held.number, out.record.sequence, whole, part++);
        tasks.spawn(as_task(endpoint.publish(next.node, tag_of(MessageKind::Part, number), bytes)));
      };
      tasks.spawn(as_task(endpoint.send(next.node, tag_of(MessageKind::Record, held.number),
                                        const_buf(out.record))));
      if (whole) {
        publish(out.parameters->w.bytes());
        publish(const_buf(std::span<const float>(out.slots)));
        publish(const_buf(std::span<const std::uint64_t>(out.words)));
      }
      for (const Gradient& g : out.gradients) publish(g.bytes);
      co_return;
    });
  } catch (const PeerLost&) {
    node_.env.probe("ps: the next holder was lost");
  }
  outgoing_.give_back(out);
}

// What the next holder tells.
Task<void> Server::take_news(HostedShard& held) {
  while (true) {
    const Match match{.from = kAnyone, .tag = tag_of(MessageKind::Has, held.number)};
    const Received received = co_await node_.endpoint.recv(match, mut_buf(held.news));
    require_size(received, Bytes(sizeof held.news));
    if (received.from != held.next.node) continue;
    held.at_all = std::max(held.at_all, held.news);
    held.changed.notify_all();
  }
}

Task<Gradient> Server::part(Holder from, std::uint64_t number) {
  require_present(node_, from);
  const Match match{.from = from.node, .tag = tag_of(MessageKind::Part, number)};
  auto there = std::make_shared<Reading>(co_await node_.endpoint.read(match));
  co_return Gradient{there->data(), there};
}

// One after the other, in the order in which they were sent.
Task<void> Server::take_records(HostedShard& held, TaskGroup& tasks) {
  while (true) {
    const Match match{.from = kAnyone, .tag = tag_of(MessageKind::Record, held.number)};
    const Received received = co_await node_.endpoint.recv(match, mut_buf(held.incoming));
    require_size(received, Bytes(sizeof held.incoming));
    const Record record = held.incoming;
    const Holder from{received.from, record.sender};
    try {
      co_await follow_record(held, from, record, tasks);
    } catch (const PeerLost& lost) {
      if (lost.peer() != from.node) throw;
    }
  }
}

void Server::make_state(HostedShard& held) {
  const bool first = held.number == 0;
  held.state = std::make_unique<ShardState>(node_, cuts_[held.number], substance_, plan_,
                                            first ? std::optional(scheduler_) : std::nullopt);
}

Task<void> Server::follow_record(HostedShard& held, Holder from, Record record, TaskGroup& tasks) {
  // Who sends it may know of a view that has not come here yet.
  while (held.directory < record.directory) co_await held.changed.wait();
  // What belongs to it is read in any case: its sender waits for that.
  const bool whole = record.kind == Record::Kind::Whole;
  const std::uint64_t count = whole ? kParts + record.samples : has_part(record) ? 1 : 0;
  std::vector<Gradient> parts;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t number = part_number(held.number, record.sequence, whole, i);
    Gradient one = co_await part(from, number);
    parts.push_back(std::move(one));
  }
  {
    const Turn mine = co_await turn(held);
    const Holder* const before = held.chain.before(self());
    if (before == nullptr || *before != from) {
      node_.env.probe("ps: a record of a chain that is no more");
      co_return;
    }
    // Of what is sent to one that counts as lost a part may come all the same: a gap, then.
    if (!whole && (!held.ready || record.sequence > held.state->sequence() + 1)) {
      node_.env.probe("ps: a record after a gap");
      co_return;
    }
    const bool there = !whole && record.sequence <= held.state->sequence();
    if (there) {
      node_.env.probe("ps: a record that is here already");
    } else if (!whole) {
      std::optional<Gradient> gradient;
      if (!parts.empty()) gradient = std::move(parts[0]);
      make(held, record, std::move(gradient), tasks);
    } else {
      co_await become_whole(held, record, std::move(parts), tasks);
    }
  }
  tasks.spawn(tell(held, from, record.sequence));
}

Task<void> Server::become_whole(HostedShard& held, const Record& record,
                                std::vector<Gradient> parts, TaskGroup& tasks) {
  if (!held.state) make_state(held);
  const auto floats = [](const Gradient& g) {
    const std::size_t n = g.bytes.data == nullptr ? 0 : g.bytes.size.value() / sizeof(float);
    return std::span(reinterpret_cast<const float*>(g.bytes.data), n);
  };
  std::vector<std::uint64_t> words(record.n);
  SHOAL_CHECK_EQ(parts[2].bytes.size.value(), record.n * sizeof(std::uint64_t));
  std::memcpy(words.data(), parts[2].bytes.data, parts[2].bytes.size.value());
  std::vector<Gradient> waiting(parts.begin() + 3, parts.end());
  co_await node_.env.work(Work::Copy, cuts_[held.number].n, [&] {
    held.state->restore(record, {floats(parts[0]), floats(parts[1])}, words, std::move(waiting));
  });
  held.ours = held.ready = true;
  held.at_all = 0;
  held.next = Holder{};
  connect(held, tasks);
}

// Tells the holder before when all after have it.
Task<void> Server::tell(HostedShard& held, Holder before, std::uint64_t sequence) {
  while (held.ready && held.at_all < sequence) co_await held.changed.wait();
  if (!held.ready) co_return;
  std::uint64_t& news = news_.take(sequence);
  try {
    require_present(node_, before);
    co_await node_.endpoint.send(before.node, tag_of(MessageKind::Has, held.number),
                                 const_buf(news));
  } catch (const PeerLost&) {
    node_.env.probe("ps: the holder before was lost");
  }
  news_.give_back(news);
}

// ---- Views

Task<void> Server::follow_directories(TaskGroup& tasks) {
  Generation last{};
  while (true) {
    co_await directories_.after(last);
    const ShardDirectory directory = directories_.now();
    last = directory.generation;
    for (HostedShard& held : held_) {
      co_await adopt(held, directory, tasks);
      tasks.spawn(complete_without_lost(held, tasks));
    }
    if (in_rounds()) {
      tasks.spawn(bury_lost_pieces(held_.front(), tasks));
    } else {
      tasks.spawn(bury_lost(held_.front(), tasks));
    }
  }
}

Task<void> Server::adopt(HostedShard& held, const ShardDirectory& directory, TaskGroup& tasks) {
  const Turn mine = co_await turn(held);
  const ShardDirectory::Place& place = directory.shards[held.number];
  // In one that was left out the next holder may have stood elsewhere, and be without some records.
  if (directory.generation != held.directory.next()) held.next = Holder{};
  held.directory = directory.generation;
  if (held.chain.n == 0 || held.chain.holders[0] != self()) {
    held.read.clear();
    held.mean_square.clear();
  }
  std::erase_if(held.read,
                [&](const auto& r) { return node_.membership.now().find(r.first) == nullptr; });
  std::erase_if(held.keys, [&](const auto& k) {
    return !node_.membership.now().has(k.first.node, k.first.life);
  });
  held.chain = place.chain;
  if (!held.chain.has(self())) {
    held.ours = held.ready = false;
    held.next = Holder{};
    held.state.reset();
    co_return;
  }
  // Most nodes never hold most shards.
  if (!std::exchange(held.followed, true)) {
    tasks.spawn(take_records(held, tasks));
    tasks.spawn(take_news(held));
  }
  if (place.fresh != 0 && held.chain.holders[0] == self() && !held.ours) {
    held.ours = true;
    make_state(held);
    co_await origin_.load(*held.state);
    SampleScheduler* const scheduler = held.state->scheduler();
    if (scheduler != nullptr && directory.generation == Generation(1)) scheduler->begin_job();
    held.ready = true;
    held.next = Holder{};
  }
  if (held.ready) connect(held, tasks);
}

// The next holder gets everything when it is another one than before. REQUIRES: as commit().
void Server::connect(HostedShard& held, TaskGroup& tasks) {
  const Holder* const after = held.chain.after(self());
  const Holder next = after == nullptr ? Holder{} : *after;
  ShardState& state = *held.state;
  if (next.node == kNobody) {
    held.next = next;
    held.at_all = state.sequence();
    return;
  }
  if (held.next == next) return;
  held.next = next;
  Record record;
  record.kind = Record::Kind::Whole;
  record.sequence = state.sequence();
  record.version = state.version();
  record.directory = held.directory;
  Outgoing& out = outgoing_.take({record, state.parameters(), {}, state.words(), state.waiting()});
  const std::span<float> slots = state.slots().data();
  out.slots.assign(slots.begin(), slots.end());
  out.record.n = out.words.size();
  out.record.samples = out.gradients.size();
  tasks.spawn(forward(held, next, out));
}

// Gates look at the view.
Task<void> Server::watch_views() {
  Generation last{};
  while (true) {
    const ViewPtr view = co_await node_.membership.after(last);
    last = view->generation;
    for (HostedShard& held : held_) held.changed.notify_all();
  }
}

// Without those who are gone the pushes that wait may be an update. REQUIRES: as commit().
void Server::complete_if_due(HostedShard& held, TaskGroup& tasks) {
  if (!is_due(held)) return;
  node_.env.probe("ps: an update without somebody who is gone");
  if (rounds(plan_.rule) > 0) return begin_measuring(held, tasks);
  const ShardState& state = *held.state;
  Record record;
  record.kind = Record::Kind::Complete;
  record.version = version_after(options_.ps.consistency, table_of(held), state.version());
  commit(held, record, tasks);
}

Task<void> Server::complete_without_lost(HostedShard& held, TaskGroup& tasks) {
  const Turn mine = co_await turn(held);
  if (is_head(held)) complete_if_due(held, tasks);
}

// What the lost have not finished: the shares in pushes of theirs that came to all shards count,
// and those that came nowhere are dealt again.
Task<void> Server::bury_lost(HostedShard& held, TaskGroup& tasks) {
  while (true) {
    std::optional<std::pair<NodeId, OpenShares::Open>> lost;
    {
      const Turn mine = co_await turn(held);
      if (!is_head(held)) co_return;
      for (const auto& [worker, open] : held.state->scheduler()->shares().all())
        if (!node_.membership.now().has(worker, open.life)) lost.emplace(worker, open);
    }
    if (!lost) co_return;
    const NodeId worker = lost->first;
    const Incarnation life = lost->second.life;
    std::vector<std::uint64_t> clocks;
    for (std::uint32_t k = 0; k < cuts_.size(); ++k) {
      const Answer answer = co_await client_.query(k, worker, life);
      clocks.push_back(answer.clock);
    }
    const Turn mine = co_await turn(held);
    if (!is_head(held)) co_return;
    const auto [least, most] = std::ranges::minmax(clocks);
    Record record;
    record.kind = Record::Kind::Lose;
    record.worker = worker;
    record.life = life;
    record.clock = most;
    // What of them had not been pushed yet is lost with it.
    const bool whole = least == most && !held_back();
    record.end = static_cast<std::uint32_t>(whole ? SampleEnd::Applied : SampleEnd::Partial);
    commit(held, record, tasks);
  }
}

}  // namespace shoal
