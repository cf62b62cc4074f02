#include "membership/sim_node.h"

#include <fmt/format.h>

#include "base/error.h"

namespace shoal {

void History::committed(const View& view) {
  if (view.generation.value() != last_.generation.value() + 1)
    fail(fmt::format("view {} was committed after view {}", view.generation, last_.generation));
  for (const Member& member : view.members) {
    if (last_.has(member.node, member.incarnation)) continue;
    Incarnation& highest = highest_[member.node];
    if (member.incarnation <= highest)
      fail(fmt::format("{} gives node {} incarnation {} after {}", describe(view), member.node,
                       member.incarnation, highest));
    highest = member.incarnation;
  }
  committed_[view.generation] = view;
  last_ = view;
}

void History::joined(Life life) {
  if (!lives_.insert(life).second)
    fail(fmt::format("incarnation {} of node {} was given twice", life.second, life.first));
}

void History::saw(Life life, const View& view) {
  const auto it = committed_.find(view.generation);
  if (it == committed_.end()) {
    fail(fmt::format("node {} saw {}, which was never committed", life.first, describe(view)));
  } else if (it->second != view) {
    fail(
        fmt::format("node {} saw {}, others {}", life.first, describe(view), describe(it->second)));
  }
  if (!view.has(life.first, life.second))
    fail(fmt::format("node {}.{} saw {} before it was fenced", life.first, life.second,
                     describe(view)));
  const View* const before = seen_by(life.first);
  if (before != nullptr && present_.at(life.first).first == life.second &&
      before->generation >= view.generation)
    fail(fmt::format("node {} saw view {} after view {}", life.first, view.generation,
                     before->generation));
  present_[life.first] = {life.second, view};
}

void History::fenced(Life life, const std::string& why) {
  if (last_.has(life.first, life.second))
    fail(fmt::format("node {}.{} was fenced ({}), and is in {}", life.first, life.second, why,
                     describe(last_)));
  fenced_[life] = why;
  present_.erase(life.first);
}

const View* History::seen_by(NodeId node) const {
  const auto it = present_.find(node);
  return it == present_.end() ? nullptr : &it->second.second;
}

MemberOptions member_options(const SimProcess& process, std::size_t expected) {
  MemberOptions options;
  options.node = NodeId(process.slot());
  options.host = HostId(process.slot());
  options.process.host = fmt::format("host{}", process.slot());
  options.process.process = static_cast<std::uint32_t>(100 + process.instance());
  options.process.instance = process.instance();
  options.contact = fmt::format("contact of {}", process.instance());
  options.job.view.expected = expected;
  return options;
}

Task<void> follow_store(SimJob& job, History& history, std::string key) {
  const std::unique_ptr<Watch> watch = job.store().watch(key);
  while (true) {
    const Change change = co_await watch->next();
    if (change.value) history.committed(parse_view_record(key, *change.value).roster.view());
  }
}

namespace {

Task<void> live(SimNode& node, JobMember& member, NodeId id, History& history) {
  while (true) {
    const std::shared_ptr<LiveMembership> life = co_await member.join();
    const History::Life name(id, life->incarnation());
    node.life = life.get();
    history.joined(name);
    std::string why;
    try {
      Generation generation;
      while (true) {
        const ViewPtr view = co_await life->after(generation);
        history.saw(name, *view);
        generation = view->generation;
      }
    } catch (const Fenced& error) {
      why = error.what();
    }
    node.life = nullptr;
    history.fenced(name, why);
  }
}

}  // namespace

Task<void> node_program(SimNode& node, History& history, MemberOptions options, bool with_store) {
  const NodeId id = options.node;
  JobMember member(*node.process, node.process->net(),
                   with_store ? &node.process->store() : nullptr, std::move(options));
  // Runs at the end, for any reason.
  struct Gone {
    SimNode& node;
    History& history;
    NodeId id;
    ~Gone() {
      node.member = nullptr;
      node.life = nullptr;
      history.forget(id);
    }
  } gone{node, history, id};
  node.member = &member;
  co_await race(member.run(), live(node, member, id, history));
}

}  // namespace shoal
