#include "train/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "train/metrics.h"

namespace shoal {
namespace {

// Viewers draw overlapping spans of one track wrongly, unless they are nested. So spans of a node
// are spread over lanes; in a lane each span begins after the end of the one before.
struct Lanes {
  struct Placed {
    const TraceSpan* span;
    std::size_t lane;
  };
  std::vector<Placed> placed;  // by begin
  std::size_t lanes = 0;

  explicit Lanes(std::vector<const TraceSpan*> spans) {
    std::ranges::stable_sort(spans, {}, [](const TraceSpan* s) { return s->begin; });
    std::vector<Time> ends;
    for (const TraceSpan* span : spans) {
      std::size_t lane = 0;
      while (lane < ends.size() && ends[lane] > span->begin) ++lane;
      if (lane == ends.size()) ends.emplace_back();
      ends[lane] = std::max(span->begin, span->end);
      placed.push_back({span, lane});
    }
    lanes = ends.size();
  }
  // The lane with a span open at that time; the first if there is none.
  std::size_t lane_at(Time time) const {
    for (const Placed& p : placed) {
      if (p.span->begin > time) break;
      if (p.span->end >= time) return p.lane;
    }
    return 0;
  }
};

using TrackKey = std::pair<NodeId, Track>;

// Tracks are numbered so that computation stands above communication.
std::size_t tid(Track track, std::size_t lane) {
  return (track == Track::Compute ? 1 : 1001) + lane;
}

std::string_view to_string(Track track) {
  return track == Track::Compute ? "compute" : "communication";
}

std::string microseconds(Time time) { return fmt::format("{:.3f}", seconds(time) * 1e6); }

std::string metadata(std::string_view what, NodeId node, std::size_t thread,
                     std::string_view name) {
  return fmt::format(
      "{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", what, node,
      thread, json_string(name));
}

// One end of an arrow: "s" where it starts, "f" where it ends.
std::string arrow(std::string_view phase, std::size_t id, NodeId node, std::size_t thread,
                  Time time, const TraceMessage& message) {
  return fmt::format(
      "{{\"ph\":\"{}\",\"cat\":\"message\",\"name\":\"message\",\"id\":{},\"pid\":{},\"tid\":{},"
      "\"ts\":{}{},\"args\":{{\"bytes\":{}}}}}",
      phase, id, node, thread, microseconds(time), phase == "f" ? ",\"bp\":\"e\"" : "",
      message.size);
}

}  // namespace

Trace::Trace(std::size_t steps_kept, std::size_t events_per_step_max)
    : steps_kept_(steps_kept), events_per_step_max_(events_per_step_max) {
  SHOAL_CHECK_GT(steps_kept, 0U);
}

Trace::StepEvents* Trace::events_of(Step step) {
  StepEvents* events = nullptr;
  if (first_.contains(step) || first_.size() < steps_kept_) {
    events = &first_[step];
  } else if (last_.contains(step) || last_.size() < steps_kept_ || step > last_.begin()->first) {
    events = &last_[step];
    if (last_.size() > steps_kept_) {
      dropped_ += last_.begin()->second.size();
      last_.erase(last_.begin());
    }
  }
  if (events != nullptr && events->size() < events_per_step_max_) return events;
  ++dropped_;
  return nullptr;
}

void Trace::add(TraceSpan span) {
  if (StepEvents* events = events_of(span.step)) events->spans.push_back(std::move(span));
}

void Trace::add(TraceMessage message) {
  if (StepEvents* events = events_of(message.step)) events->messages.push_back(message);
}

std::string Trace::to_json() const {
  std::map<TrackKey, std::vector<const TraceSpan*>> spans;
  std::vector<const TraceMessage*> messages;
  for (const auto* steps : {&first_, &last_})
    for (const auto& [step, events] : *steps) {
      for (const TraceSpan& span : events.spans) spans[{span.node, span.track}].push_back(&span);
      for (const TraceMessage& message : events.messages) messages.push_back(&message);
    }

  std::string json = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  const auto add = [&](const std::string& event) {
    if (!json.ends_with('[')) json += ',';
    json += '\n';
    json += event;
  };
  std::map<TrackKey, Lanes> lanes;
  for (auto& [key, list] : spans) {
    const auto& [node, track] = key;
    const Lanes& own = lanes.emplace(key, std::move(list)).first->second;
    add(metadata("process_name", node, 0, fmt::format("node {}", node)));
    for (std::size_t lane = 0; lane < own.lanes; ++lane)
      add(metadata("thread_name", node, tid(track, lane), to_string(track)));
    for (const auto& [span, lane] : own.placed)
      add(
          fmt::format("{{\"ph\":\"X\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{:.3f},"
                      "\"args\":{{\"step\":{}}}}}",
                      json_string(span->name), node, tid(track, lane), microseconds(span->begin),
                      std::max(0.0, seconds(span->end - span->begin) * 1e6), span->step));
  }
  const auto thread_at = [&](NodeId node, Time time) {
    const auto found = lanes.find({node, Track::Communication});
    return tid(Track::Communication, found == lanes.end() ? 0 : found->second.lane_at(time));
  };
  for (std::size_t id = 0; id < messages.size(); ++id) {
    const TraceMessage& m = *messages[id];
    add(arrow("s", id + 1, m.from, thread_at(m.from, m.sent), m.sent, m));
    add(arrow("f", id + 1, m.to, thread_at(m.to, m.received), m.received, m));
  }
  return json + "\n]}\n";
}

}  // namespace shoal
