#include "ps/chain_replication.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "ps/shard_directories.h"

namespace shoal {
namespace {

constexpr std::uint32_t kWholeParts = 3;  // of a whole shard, before the pushes that wait
constexpr std::uint64_t kPartsMax = 4096;

// A whole shard has the number of the last record that is in it.
std::uint64_t part_number(std::uint32_t shard, std::uint64_t sequence, bool whole,
                          std::uint64_t part) {
  return (std::uint64_t{shard} << 44U) + (sequence * 2 + (whole ? 1 : 0)) * kPartsMax + part;
}

bool is_whole(const AnyRecord& record) { return std::holds_alternative<WholeRecord>(record); }

}  // namespace

ChainReplication::ChainReplication(ServerContext& server, const SampleScheduler& scheduler,
                                   ShardLoader& loader)
    : server_(server), scheduler_(scheduler), loader_(loader), arrivals_(server.shards.size()) {}

// ---- At the head

void ChainReplication::commit(HostedShard& shard, AnyRecord record, std::optional<Gradient> part) {
  RecordHeader& header = header_of(record);
  header.sequence = shard.state->sequence() + 1;
  header.directory = shard.directory;
  make(shard, record, std::move(part));
}

void ChainReplication::make(HostedShard& shard, AnyRecord record, std::optional<Gradient> part) {
  std::optional<Gradient> own = part;
  if (shard.state->apply(record, std::move(own))) {
    shard.begin_update();
    server_.spawn(shard.run_update());
  }
  if (shard.next.node == kNobody) {
    shard.acknowledged = header_of(record).sequence;
  } else {
    Outgoing& out = outgoing_.take({record});
    if (part) out.gradients.push_back(std::move(*part));
    server_.spawn(forward(shard, shard.next, out));
  }
}

Task<void> ChainReplication::until_acknowledged(HostedShard& shard) {
  const std::uint64_t made = server_.is_head(shard) ? shard.state->sequence() : 0;
  while (server_.is_head(shard) && shard.acknowledged < made) co_await shard.changed.wait();
}

// ---- To the next holder

// If the next holder is lost, the next directory names another one, which gets everything.
Task<void> ChainReplication::forward(HostedShard& shard, Holder next, Outgoing& out) {
  const Node& node = server_.node;
  RecordHeader& header = header_of(out.record);
  const bool whole = is_whole(out.record);
  header.sender = node.incarnation;
  header.parts = static_cast<std::uint32_t>(out.gradients.size()) + (whole ? kWholeParts : 0);
  out.frame.put(out.record);
  try {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      require_present(node, next);  // before anything is sent to another life
      Endpoint& endpoint = node.endpoint;
      std::uint64_t part = 0;
      const auto publish = [&](ConstBuf bytes) {
        const std::uint64_t number = part_number(shard.number, header.sequence, whole, part++);
        const Tag tag = tag_of(MessageKind::RecordPart, number);
        tasks.spawn(as_task(endpoint.publish(next.node, tag, bytes)));
      };
      const Tag tag = tag_of(MessageKind::Record, shard.number);
      tasks.spawn(as_task(endpoint.send(next.node, tag, out.frame.bytes())));
      if (whole) {
        publish(out.parameters->w.bytes());
        publish(const_buf(std::span<const float>(out.slots)));
        publish(const_buf(std::span<const std::uint64_t>(out.words)));
      }
      for (const Gradient& g : out.gradients) publish(g.bytes);
      co_return;
    });
  } catch (const PeerLost&) {
    node.env.probe("ps: the next holder was lost");
  }
  outgoing_.give_back(out);
}

// A next holder that is not the one before gets everything. REQUIRES: the caller has the turn.
void ChainReplication::connect(HostedShard& shard) {
  const Holder* const after = shard.chain.after(server_.self());
  const Holder next = after == nullptr ? Holder{} : *after;
  ShardState& state = *shard.state;
  if (next.node == kNobody) {
    shard.next = next;
    shard.acknowledged = state.sequence();
    return;
  }
  if (shard.next == next) return;
  shard.next = next;
  WholeRecord record;
  record.header.sequence = state.sequence();
  record.header.directory = shard.directory;
  record.version = state.version();
  Outgoing& out =
      outgoing_.take({record, {}, state.parameters(), {}, state.words(), state.waiting()});
  const std::span<float> slots = state.slots().data();
  out.slots.assign(slots.begin(), slots.end());
  server_.spawn(forward(shard, next, out));
}

Task<void> ChainReplication::take_acknowledgements(HostedShard& shard) {
  std::uint64_t& arrived = arrivals_[shard.number].acknowledged;
  while (true) {
    const Match match{.from = kAnyone, .tag = tag_of(MessageKind::Acknowledgement, shard.number)};
    const Received received = co_await server_.node.endpoint.recv(match, mut_buf(arrived));
    require_size(received, Bytes(sizeof arrived));
    if (received.from != shard.next.node) continue;
    shard.acknowledged = std::max(shard.acknowledged, arrived);
    shard.changed.notify_all();
  }
}

// ---- From the holder before

// One after the other, in the order in which they were sent.
Task<void> ChainReplication::take_records(HostedShard& shard) {
  RecordFrame& frame = arrivals_[shard.number].record;
  while (true) {
    const Match match{.from = kAnyone, .tag = tag_of(MessageKind::Record, shard.number)};
    const Received received = co_await server_.node.endpoint.recv(match, frame.room());
    require_size(received, frame.room().size);
    const AnyRecord record = frame.message(received.from);
    const Holder from{received.from, header_of(record).sender};
    try {
      co_await follow_record(shard, from, record);
    } catch (const PeerLost& lost) {
      if (lost.peer() != from.node) throw;
    }
  }
}

Task<Gradient> ChainReplication::part(Holder from, std::uint64_t number) {
  require_present(server_.node, from);
  const Match match{.from = from.node, .tag = tag_of(MessageKind::RecordPart, number)};
  auto there = std::make_shared<Reading>(co_await server_.node.endpoint.read(match));
  co_return Gradient{there->data(), there};
}

Task<void> ChainReplication::follow_record(HostedShard& shard, Holder from, AnyRecord record) {
  const Node& node = server_.node;
  const RecordHeader header = header_of(record);
  // The sender may know of a view that has not come here yet.
  while (shard.directory < header.directory) co_await shard.changed.wait();
  // The parts are read in any case: their sender waits for that.
  const bool whole = is_whole(record);
  std::vector<Gradient> parts;
  for (std::uint32_t i = 0; i < header.parts; ++i) {
    const std::uint64_t number = part_number(shard.number, header.sequence, whole, i);
    Gradient one = co_await part(from, number);
    parts.push_back(std::move(one));
  }
  {
    const HostedShard::Turn mine = co_await shard.turn();
    const Holder* const before = shard.chain.before(server_.self());
    if (before == nullptr || *before != from) {
      node.env.probe("ps: a record of a chain that is no more");
      co_return;
    }
    // From a sender that counts as lost, some records may still arrive: then there is a gap.
    if (!whole && (!shard.ready || header.sequence > shard.state->sequence() + 1)) {
      node.env.probe("ps: a record after a gap");
      co_return;
    }
    const bool there = !whole && header.sequence <= shard.state->sequence();
    if (there) {
      node.env.probe("ps: a record that is here already");
    } else if (!whole) {
      std::optional<Gradient> gradient;
      if (!parts.empty()) gradient = std::move(parts[0]);
      make(shard, record, std::move(gradient));
    } else {
      co_await become_whole(shard, std::get<WholeRecord>(record), std::move(parts));
    }
  }
  server_.spawn(acknowledge(shard, from, header.sequence));
}

Task<void> ChainReplication::become_whole(HostedShard& shard, WholeRecord record,
                                          std::vector<Gradient> parts) {
  if (!shard.state) make_state(shard);
  SHOAL_CHECK_LE(kWholeParts, parts.size());
  const auto floats = [](const Gradient& g) {
    const std::size_t n = g.bytes.data == nullptr ? 0 : g.bytes.size.value() / sizeof(float);
    return std::span(reinterpret_cast<const float*>(g.bytes.data), n);
  };
  const ConstBuf words_part = parts[2].bytes;
  std::vector<std::uint64_t> words(words_part.size.value() / sizeof(std::uint64_t));
  std::memcpy(words.data(), words_part.data, words_part.size.value());
  std::vector<Gradient> waiting(parts.begin() + kWholeParts, parts.end());
  co_await server_.node.env.work(Work::Copy, server_.cuts[shard.number].n, [&] {
    shard.state->restore(record, {floats(parts[0]), floats(parts[1])}, words, std::move(waiting));
  });
  shard.ours = shard.ready = true;
  shard.acknowledged = 0;
  shard.next = Holder{};
  connect(shard);
}

// As soon as all holders after this one have the record.
Task<void> ChainReplication::acknowledge(HostedShard& shard, Holder before,
                                         std::uint64_t sequence) {
  while (shard.ready && shard.acknowledged < sequence) co_await shard.changed.wait();
  if (!shard.ready) co_return;
  std::uint64_t& message = acknowledgements_.take(sequence);
  const Tag tag = tag_of(MessageKind::Acknowledgement, shard.number);
  try {
    require_present(server_.node, before);
    co_await server_.node.endpoint.send(before.node, tag, const_buf(message));
  } catch (const PeerLost&) {
    server_.node.env.probe("ps: the holder before was lost");
  }
  acknowledgements_.give_back(message);
}

// ---- Views

void ChainReplication::make_state(HostedShard& shard) {
  const bool first = shard.number == 0;
  shard.state =
      std::make_unique<ShardState>(server_.node, server_.cuts[shard.number], server_.substance,
                                   server_.plan, first ? std::optional(scheduler_) : std::nullopt);
}

// Most nodes never hold most shards.
void ChainReplication::follow(HostedShard& shard) {
  if (std::exchange(arrivals_[shard.number].followed, true)) return;
  server_.spawn(take_records(shard));
  server_.spawn(take_acknowledgements(shard));
}

Task<void> ChainReplication::adopt(HostedShard& shard, const ShardDirectory& directory) {
  const HostedShard::Turn mine = co_await shard.turn();
  const ShardDirectory::Place& place = directory.shards[shard.number];
  // In a directory that was left out the next holder may have been elsewhere, without some records.
  // And this node may have been a holder: it takes what was sent to it, for which its sender waits.
  if (directory.generation != shard.directory.next()) {
    shard.next = Holder{};
    follow(shard);
  }
  shard.directory = directory.generation;
  shard.chain = place.chain;
  if (!shard.chain.has(server_.self())) {
    shard.ours = shard.ready = false;
    shard.next = Holder{};
    shard.state.reset();
    co_return;
  }
  follow(shard);
  if (place.fresh != 0 && shard.chain.holders[0] == server_.self() && !shard.ours) {
    shard.ours = true;
    make_state(shard);
    co_await loader_.load(*shard.state);
    SampleScheduler* const scheduler = shard.scheduler();
    if (scheduler != nullptr && directory.generation == Generation(1)) scheduler->begin_job();
    shard.ready = true;
    shard.next = Holder{};
  }
  if (shard.ready) connect(shard);
}

}  // namespace shoal
