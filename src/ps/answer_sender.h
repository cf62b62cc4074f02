// Sends answers, and the ranges that belong to them. Parameters are sent in pieces, each as soon as
// the update has computed it, plain or encoded.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "codec/codec.h"
#include "ps/protocol.h"
#include "ps/requests.h"
#include "ps/server_context.h"
#include "ps/shard_state.h"
#include "ps/slots.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"
#include "runtime/task_group.h"

namespace shoal {

// The range that follows an answer. It is held until it has been read.
struct Payload {
  std::shared_ptr<Version> parameters{};
  std::uint64_t version = 0;  // of the parameters
  bool exact = false;         // not encoded, for evaluation and checkpoints
  Range slots{};
  std::shared_ptr<const std::vector<float>> buffers{};
  std::shared_ptr<const std::vector<std::uint64_t>> words{};
};

// Thread safety: none; it belongs to the thread of its node.
class AnswerSender {
 public:
  explicit AnswerSender(ServerContext& server);

  // Throws PeerLost when the receiver is lost.
  template <class Message>
  Task<void> reply(NodeId to, const Message& request, typename Message::Answer answer,
                   Payload payload) {
    return send(to, request.header, answer, std::move(payload));
  }
  template <class Message>
  Task<void> reply(NodeId to, const Message& request, typename Message::Answer answer) {
    return send(to, request.header, answer, Payload());
  }
  // From a handler that has waited: answers NotHere if this node is not the head any more.
  template <class Message>
  Task<void> reply_as_head(NodeId to, const Message& request, typename Message::Answer answer,
                           Payload payload) {
    if (!server_.is_head(server_.shards[request.header.shard])) {
      answer.header.outcome = RequestOutcome::NotHere;
      payload = Payload();
    }
    return send(to, request.header, answer, std::move(payload));
  }

 private:
  Task<void> send(NodeId to, RequestHeader request, AnyAnswer answer, Payload payload);
  Task<void> publish_as_made(NodeId to, Tag tag, Version& version, TaskGroup& tasks);
  Task<void> publish_encoded(NodeId to, Tag tag, std::uint32_t shard, Version& version,
                             std::uint64_t number, TaskGroup& tasks);
  Task<ConstBuf> encoded_piece(std::uint64_t number, std::uint32_t shard, std::uint64_t piece,
                               Version& version);

  ServerContext& server_;
  std::unique_ptr<Codec> pulls_;  // null: parameters are not encoded
  Slots<AnswerFrame> answers_;
};

}  // namespace shoal
