// The client of the servers: sends requests to the heads of shards, and again to the next one when
// a head was lost. Nothing here is ever cancelled but with the whole node, which then retires
// kServing for good before the client goes: every wait is for a server, and ends when that one is
// lost.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/types.h"
#include "codec/encoding.h"
#include "ps/protocol.h"
#include "ps/shard_directories.h"
#include "ps/slots.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Copies what a holder has published.
Task<void> take_range(Node& node, Holder from, Tag tag, Range into);

class Client {
 public:
  // A node has one as a worker and one as a server; their requests have numbers of their own.
  // `pulls`: what parameters are on their way to it.
  Client(Node& node, ShardDirectories& directories, Role role, const Encoding& pulls = {})
      : node_(node),
        directories_(directories),
        number_((std::uint64_t{node.incarnation.value()} << 1U | (role == Role::Server ? 1U : 0U))
                << 38U),
        pulls_(make_codec(pulls)) {}

  // Where what comes with an answer is copied to. Parameters and slots are of the shard's size.
  struct Room {
    Range w{}, slots{}, rest{};
    std::vector<std::uint64_t>* news = nullptr;
  };
  // To the head of ask.shard, until one answers. `gradient` of ask.samples > 0, of the shard's
  // size. Fills in what a request needs else.
  Task<Answer> train(Ask ask, Range gradient, Room room);
  // Comes in at a shard; or leaves it.
  Task<Answer> enter(Ask ask, Room room);
  Task<Answer> leave(std::uint32_t shard, std::uint64_t settled);
  // Waits until all workers' steps up to a clock above ask.clock are in the parameters, and reads
  // them; or until this worker leaves: then there are none.
  Task<Answer> follow(Ask ask, Room room);
  // At an epoch's end: what was done, and what is to be done. Waits until there is something.
  Task<Answer> task(Ask ask, Range rest, Room room);
  // Parameters and slots, as they are.
  Task<Answer> snapshot(std::uint32_t shard, Room room);
  // What the shard has measured for the update to a version, as words (server_norms.cc). Waits
  // until it has.
  Task<Answer> sums(std::uint32_t shard, std::uint64_t version, std::uint32_t round,
                    std::vector<std::uint64_t>& words);
  // How many pushes of a lost life have come there.
  Task<Answer> query(std::uint32_t shard, NodeId worker, Incarnation life);

 private:
  struct Call {
    Ask ask;
    Answer answer;
  };

  Task<Answer> as_worker(Ask::Kind kind, Ask ask, Range brought, Room room);
  Task<Answer> request(Ask ask, Range brought, Room room);
  Task<void> request_once(Call& call, Holder head, Range brought, Room room);
  Task<void> take_answer(Call& call, Holder head, Room room);
  Task<void> take_encoded(Holder head, Tag tag, Range into);
  Task<void> take_news(Holder head, Tag tag, std::vector<std::uint64_t>& into);

  Node& node_;
  ShardDirectories& directories_;
  std::uint64_t number_ = 0;
  std::unique_ptr<Codec> pulls_;
  Slots<Call> calls_;
};

}  // namespace shoal
