#include "launch/process_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "launch/token.h"

namespace shoal {
namespace {

struct PipeEnds {
  Descriptor reading, writing;
};

PipeEnds make_pipe() {
  int ends[2];
  SHOAL_CHECK_EQ(pipe2(ends, O_CLOEXEC), 0, "pipe2: {}", std::strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

ProcessGroup::ProcessGroup(LiveLoop& loop, Output& output, ProcessGroupOptions options)
    : loop_(loop), output_(output), options_(options) {
  output_.on_room([this] { resume(); });
}

ProcessGroup::~ProcessGroup() {
  output_.on_room(nullptr);
  if (grace_ != nullptr) loop_.cancel(grace_);
  for (auto& [rank, process] : processes_) {
    process.control.reset();
    ::kill(-process.child.pid, SIGKILL);
    ::kill(process.child.pid, SIGKILL);
    reap(process.child);
    if (!process.remote) guard_.remove(process.child.pid);
    if (process.linger != nullptr) loop_.cancel(process.linger);
    if (!process.gone) loop_.unwatch(process.child.exit.get());
    for (Pipe& pipe : process.pipes)
      if (pipe.end.valid() && !paused_) loop_.unwatch(pipe.end.get());
  }
}

void ProcessGroup::start(std::uint32_t rank, const ProcessPlan& plan) {
  SHOAL_CHECK(!processes_.contains(rank), "rank {} is running already", rank);
  PipeEnds out = make_pipe();
  PipeEnds err = make_pipe();
  PipeEnds in;
  Spawn request;
  request.command = plan.command;
  request.environment = plan.environment;
  request.out = out.writing.get();
  request.err = err.writing.get();
  if (plan.remote) {
    in = make_pipe();
    request.in = in.reading.get();
  }
  const Descriptor token(plan.token.empty() ? -1 : token_descriptor(plan.token));
  request.token = token.get();

  Process started;
  started.child = spawn(request);
  started.remote = plan.remote;
  if (plan.remote) {
    started.control = std::move(in.writing);
    fcntl(started.control.get(), F_SETFL, O_NONBLOCK);
    // It fits into the pipe. If the process has ended, its exit will be noticed.
    [[maybe_unused]] const ssize_t n =
        write(started.control.get(), plan.greeting.data(), plan.greeting.size());
  } else {
    guard_.add(started.child.pid);
  }
  started.pipes[0].end = std::move(out.reading);
  started.pipes[1].end = std::move(err.reading);
  Process& process = processes_[rank] = std::move(started);
  loop_.watch(process.child.exit.get(), [this, rank] { exited(rank); });
  for (std::size_t i = 0; i < 2; ++i) {
    Pipe& pipe = process.pipes[i];
    pipe.stream = static_cast<Stream>(i);
    if (!plan.raw) pipe.lines = std::make_unique<LineSplitter>(plan.prefix);
    fcntl(pipe.end.get(), F_SETFL, O_NONBLOCK);
    if (!paused_) loop_.watch(pipe.end.get(), [this, rank, &pipe] { readable(rank, pipe); });
  }
  if (ending_) send(process, SIGTERM);
}

void ProcessGroup::send(Process& process, int signal) {
  if (signal == SIGKILL) process.killed = true;
  if (!process.remote) {
    ::kill(-process.child.pid, signal);
  } else if (signal == SIGKILL) {
    process.control.reset();  // closing it makes the remote side kill the process
  } else if (process.control.valid()) {
    const std::string line = fmt::format("{}\n", sigabbrev_np(signal));
    [[maybe_unused]] const ssize_t n = write(process.control.get(), line.data(), line.size());
  }
}

void ProcessGroup::signal(int signal) {
  for (auto& [rank, process] : processes_) send(process, signal);
}

void ProcessGroup::end(int signal) {
  this->signal(signal);
  if (std::exchange(ending_, true)) return;
  grace_ = loop_.at(loop_.now() + options_.grace, [this] {
    grace_ = nullptr;
    kill();
  });
}

void ProcessGroup::kill() {
  ending_ = true;
  signal(SIGKILL);
  // A connection that does not end by itself is closed.
  for (auto& [rank, process] : processes_) {
    if (!process.remote || process.gone || process.linger != nullptr) continue;
    process.linger =
        loop_.at(loop_.now() + options_.linger, [this, r = rank, pid = process.child.pid] {
          processes_.at(r).linger = nullptr;
          ::kill(-pid, SIGKILL);
        });
  }
}

// The process has ended, but its pipes may still be full, and its children may live.
void ProcessGroup::exited(std::uint32_t rank) {
  Process& process = processes_.at(rank);
  if (!has_ended(process.child, process.ended)) return;
  loop_.unwatch(process.child.exit.get());
  process.gone = true;
  process.control.reset();
  if (process.linger != nullptr) loop_.cancel(process.linger);
  ::kill(-process.child.pid, SIGTERM);
  process.linger = loop_.at(loop_.now() + options_.linger, [this, rank] { lingered(rank); });
  finish_if_done(rank);
}

void ProcessGroup::lingered(std::uint32_t rank) {
  Process& process = processes_.at(rank);
  process.linger = nullptr;
  if (!std::exchange(process.killed, true)) {
    ::kill(-process.child.pid, SIGKILL);
    process.linger = loop_.at(loop_.now() + options_.linger, [this, rank] { lingered(rank); });
    return;
  }
  if (paused_) {  // our own reader is late, not the process
    process.linger = loop_.at(loop_.now() + options_.linger, [this, rank] { lingered(rank); });
    return;
  }
  // A process outside of the group holds the pipes open. Their present content is the last.
  for (Pipe& pipe : process.pipes) {
    if (!pipe.end.valid()) continue;
    pass_on(rank, pipe);
    close(rank, pipe);
  }
  finish_if_done(rank);
}

void ProcessGroup::readable(std::uint32_t rank, Pipe& pipe) {
  if (!pass_on(rank, pipe)) {
    close(rank, pipe);
    return finish_if_done(rank);
  }
  if (output_.full()) pause();
}

// Reads up to the capacity of a pipe. False: end of file.
bool ProcessGroup::pass_on(std::uint32_t rank, Pipe& pipe) {
  std::array<char, 65536> room;
  const ssize_t n = read(pipe.end.get(), room.data(), room.size());
  if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
  const std::string_view bytes(room.data(), static_cast<std::size_t>(n));
  output_.write(pipe.stream, static_cast<int>(rank),
                pipe.lines ? pipe.lines->feed(bytes) : std::string(bytes));
  return true;
}

void ProcessGroup::close(std::uint32_t rank, Pipe& pipe) {
  loop_.unwatch(pipe.end.get());
  pipe.end.reset();
  if (pipe.lines) output_.write(pipe.stream, static_cast<int>(rank), pipe.lines->finish());
}

void ProcessGroup::finish_if_done(std::uint32_t rank) {
  const auto it = processes_.find(rank);
  Process& process = it->second;
  if (!process.gone || process.pipes[0].end.valid() || process.pipes[1].end.valid()) return;
  if (process.linger != nullptr) loop_.cancel(process.linger);
  ::kill(-process.child.pid, SIGKILL);  // it closed its output but did not exit
  reap(process.child);
  if (!process.remote) guard_.remove(process.child.pid);
  const Ended ended = process.ended;
  processes_.erase(it);
  if (processes_.empty() && grace_ != nullptr) loop_.cancel(std::exchange(grace_, nullptr));
  if (on_exit_) on_exit_(rank, ended);
}

void ProcessGroup::pause() {
  if (std::exchange(paused_, true)) return;
  for (auto& [rank, process] : processes_)
    for (Pipe& pipe : process.pipes)
      if (pipe.end.valid()) loop_.unwatch(pipe.end.get());
}

void ProcessGroup::resume() {
  if (!std::exchange(paused_, false)) return;
  for (auto& [rank, process] : processes_)
    for (Pipe& pipe : process.pipes)
      if (pipe.end.valid())
        loop_.watch(pipe.end.get(), [this, r = rank, p = &pipe] { readable(r, *p); });
}

}  // namespace shoal
