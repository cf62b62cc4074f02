// trace.json: the run as a timeline, for https://ui.perfetto.dev or chrome://tracing. A process per
// node, with one track for computation and as many for communication as overlap; an arrow per
// message.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/types.h"

namespace shoal {

enum class Track : std::uint8_t { Compute, Communication };

struct TraceSpan {
  NodeId node;
  Track track = Track::Compute;
  std::string name;  // "forward", "reduce bucket 3"
  Step step;
  Time begin;
  Time end;
};

// Drawn from the span of communication open at `from` when it is sent, to the one at `to`.
struct TraceMessage {
  NodeId from;
  NodeId to;
  Step step;
  Time sent;
  Time received;
  Bytes size;
};

// Bounded: of a long run it keeps the first and the last steps completely.
class Trace {
 public:
  // REQUIRES: steps_kept > 0; this many at either end.
  explicit Trace(std::size_t steps_kept = 20, std::size_t events_per_step_max = 20'000);

  void add(TraceSpan span);
  void add(TraceMessage message);

  std::string to_json() const;
  bool empty() const { return first_.empty(); }
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct StepEvents {
    std::vector<TraceSpan> spans;
    std::vector<TraceMessage> messages;
    std::size_t size() const { return spans.size() + messages.size(); }
  };
  StepEvents* events_of(Step step);  // null: the step is not kept

  std::size_t steps_kept_;
  std::size_t events_per_step_max_;
  std::map<Step, StepEvents> first_, last_;
  std::uint64_t dropped_ = 0;
};

}  // namespace shoal
