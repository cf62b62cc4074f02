#include "ps/answer_sender.h"

#include <optional>
#include <span>

#include "base/error.h"
#include "ps/shard_directories.h"

namespace shoal {

AnswerSender::AnswerSender(ServerContext& server) : server_(server) {
  if (server.options.ps.pulls != Encoding()) pulls_ = make_codec(server.options.ps.pulls);
}

Task<void> AnswerSender::send(NodeId to, RequestHeader request, AnyAnswer answer, Payload payload) {
  require_present(server_.node, {to, request.life});
  const bool encoded = pulls_ && !payload.exact;
  AnswerHeader& header = header_of(answer);
  header.parameters = payload.parameters ? 1 : 0;
  header.encoded = encoded ? 1 : 0;
  header.buffers = payload.buffers ? 1 : 0;
  header.words = payload.words ? 1 : 0;
  AnswerFrame& out = answers_.take({});
  out.put(answer);
  std::optional<PeerLost> lost;
  try {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      Endpoint& endpoint = server_.node.endpoint;
      const Tag tag = tag_of(MessageKind::Answer, request.number);
      tasks.spawn(as_task(endpoint.send(to, tag, out.bytes())));
      const auto publish = [&](MessageKind what, ConstBuf bytes) {
        tasks.spawn(as_task(endpoint.publish(to, tag_of(what, request.number), bytes)));
      };
      const Tag parameters = tag_of(MessageKind::Parameters, request.number);
      if (payload.parameters && encoded) {
        tasks.spawn(publish_encoded(to, parameters, request.shard, *payload.parameters,
                                    payload.version, tasks));
      } else if (payload.parameters) {
        tasks.spawn(publish_as_made(to, parameters, *payload.parameters, tasks));
      }
      if (payload.slots.n > Elements(0)) publish(MessageKind::Slots, payload.slots.bytes());
      if (payload.buffers)
        publish(MessageKind::Buffers, const_buf(std::span<const float>(*payload.buffers)));
      if (payload.words)
        publish(MessageKind::Words, const_buf(std::span<const std::uint64_t>(*payload.words)));
      co_return;
    });
  } catch (const PeerLost& error) {
    lost = error;
  }
  answers_.give_back(out);
  if (lost) throw PeerLost(*lost);
}

// While an update runs, the reader gets the pieces that are ready.
Task<void> AnswerSender::publish_as_made(NodeId to, Tag tag, Version& version, TaskGroup& tasks) {
  for (std::uint64_t i = 0; i < pieces_of(version.w.size()); ++i) {
    const Range piece = piece_of(version.w.all(), i);
    while (version.made < piece.at + piece.n) co_await version.more.wait();
    tasks.spawn(as_task(server_.node.endpoint.publish(to, tag, piece.bytes())));
  }
}

// Each piece is encoded once for all who read this version.
Task<void> AnswerSender::publish_encoded(NodeId to, Tag tag, std::uint32_t shard, Version& version,
                                         std::uint64_t number, TaskGroup& tasks) {
  for (std::uint64_t i = 0; i < pieces_of(version.w.size()); ++i) {
    const Range piece = piece_of(version.w.all(), i);
    while (version.made < piece.at + piece.n) co_await version.more.wait();
    const ConstBuf message = co_await encoded_piece(number, shard, i, version);
    tasks.spawn(as_task(server_.node.endpoint.publish(to, tag, message)));
  }
}

Task<ConstBuf> AnswerSender::encoded_piece(std::uint64_t number, std::uint32_t shard,
                                           std::uint64_t piece, Version& version) {
  const Node& node = server_.node;
  const Range w = piece_of(version.w.all(), piece);
  const bool phantom = version.w.phantom();
  if (!version.encoded.contains(piece)) {
    Version::Encoded made{
        nullptr, Bytes(phantom ? pulls_->expected(w.n.value()) : pulls_->bound(w.n.value()))};
    if (!phantom) made.data = node.endpoint.allocate(made.size);
    co_await node.env.work(Work::Encode, w.n, [&] {
      if (phantom) return;
      const std::span<const float> values = w.data();
      const DrawKey key{node.env.seed(), number, (server_.cuts[shard].at + w.at).value()};
      made.size =
          Bytes(pulls_->encode({values, values}, {made.data.get(), made.size.value()}, key));
    });
    version.encoded.try_emplace(piece, std::move(made));  // Another may have been faster.
  }
  const Version::Encoded& there = version.encoded.at(piece);
  co_return ConstBuf{there.data.get(), there.size};
}

}  // namespace shoal
