// The client of the servers: sends requests to the heads of shards, and sends one again to the next
// head when a head was lost. Requests are cancelled only with the whole node, which retires
// kServing for good before the client is destroyed: every wait is for a server, and ends when that
// one is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/types.h"
#include "codec/encoding.h"
#include "ps/protocol.h"
#include "ps/requests.h"
#include "ps/shard_directories.h"
#include "ps/slots.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Copies a range that a holder has published.
Task<void> take_range(Node& node, Holder from, Tag tag, Range into);

class Client {
 public:
  // A node has one client as a worker and one as a server, whose requests are numbered separately.
  // `pulls`: the encoding of parameters that are sent to this node.
  Client(Node& node, ShardDirectories& directories, Role role, const Encoding& pulls = {})
      : node_(node),
        directories_(directories),
        number_((std::uint64_t{node.incarnation.value()} << 1U | (role == Role::Server ? 1U : 0U))
                << 38U),
        pulls_(make_codec(pulls)) {}

  const ShardDirectory& directory() const { return directories_.now(); }
  // Calls `then` for every new directory.
  void on_directory(std::function<void()> then) { directories_.on_change = std::move(then); }
  // The destinations of the ranges that follow an answer. Parameters and slots have the shard's
  // size.
  struct Room {
    Range w{}, slots{}, buffers{};
    std::vector<std::uint64_t>* words = nullptr;
  };
  // Sends the request to the head of its shard, until one answers. `brought`: the gradient or the
  // buffers that are sent with it.
  template <class Message>
  Task<typename Message::Answer> call(Message message, Range brought, Room room);
  template <class Message>
  Task<typename Message::Answer> call(Message message, Room room) {
    return call(message, Range(), room);
  }
  template <class Message>
  Task<typename Message::Answer> call(Message message) {
    return call(message, Range(), Room());
  }

 private:
  struct Call {
    std::uint64_t number = 0;
    Attachment attachment{};
    RequestFrame request{};
    AnswerFrame answer{};
  };

  Task<void> request_once(Call& call, Holder head, Range brought, Room room);
  Task<void> take_answer(Call& call, Holder head, Room room);
  Task<void> take_encoded(Holder head, Tag tag, Range into);
  Task<void> take_words(Holder head, Tag tag, std::vector<std::uint64_t>& into);

  Node& node_;
  ShardDirectories& directories_;
  std::uint64_t number_ = 0;
  std::unique_ptr<Codec> pulls_;
  Slots<Call> calls_;
};

}  // namespace shoal
