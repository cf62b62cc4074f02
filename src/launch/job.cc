#include "launch/job.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace shoal {
namespace {

constexpr int kOurself = 1 << 30;       // as a source of output; ranks are smaller
constexpr int kConnectionFailed = 255;  // exit status of ssh
constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int kPassedOn[] = {SIGUSR1, SIGUSR2};

void mask_signals(int how) {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : kEnding) sigaddset(&set, s);
  for (const int s : kPassedOn) sigaddset(&set, s);
  pthread_sigmask(how, &set, nullptr);
}

}  // namespace

void hold_signals() { mask_signals(SIG_BLOCK); }
void release_signals() { mask_signals(SIG_UNBLOCK); }

Job::Job(LiveLoop& loop, Output& output, LaunchOptions options)
    : loop_(loop),
      output_(output),
      options_(std::move(options)),
      plan_(plan_job(options_)),
      verdict_(options_.policy),
      group_(loop, output, options_.processes),
      lives_(plan_.world, 0) {
  group_.on_exit([this](std::uint32_t rank, const Ended& ended) { exited(rank, ended); });
  output_.on_failed([this](Stream stream, int error) { output_failed(stream, error); });
  take_signals();
}

void Job::take_signals() {
  signal(SIGPIPE, SIG_IGN);
  for (const int s : kEnding) loop_.watch_signal(s, [this, s] { interrupted(s); });
  for (const int s : kPassedOn) loop_.watch_signal(s, [this, s] { group_.signal(s); });
}

void Job::start() {
  for (std::uint32_t rank = 0; rank < plan_.world; ++rank)
    group_.start(rank, plan_process(options_, plan_, rank, ++lives_[rank]));
}

void Job::interrupted(int signal) {
  if (group_.running() == 0) {
    // All processes have ended; only the reader of our output holds us up.
    output_.abandon();
    return;
  }
  const bool gently = !options_.stop_text.empty();
  const bool again = (signal == SIGINT || gently) && interrupts_++ > 0;
  if (!again) {
    if (gently) say(options_.stop_text);
    return group_.end(gently ? SIGTERM : signal);
  }
  if (gently) broken_ = 128 + signal;
  say("interrupted again: killing all");
  group_.kill();
}

void Job::exited(std::uint32_t rank, const Ended& ended) {
  if (on_exit_) on_exit_(rank, ended);
  const bool first = !verdict_.first_failure();
  const Next next = verdict_.ended(rank, ended, group_.ending());
  if (next == Next::Restart) {
    say(fmt::format("{}: {}; restarting it, {} of {}", name_of(rank), describe(ended),
                    verdict_.restarts(), options_.policy.restarts));
    try {
      return group_.start(rank, plan_process(options_, plan_, rank, ++lives_[rank]));
    } catch (const CannotRun& error) {
      say(error.what());
      verdict_.ended(rank, Ended{error.status(), 0}, true);
      group_.end(SIGTERM);
    }
  } else if (verdict_.failed(ended, group_.ending()) && first) {
    const bool no_connection =
        ended.code == kConnectionFailed && !options_.hosts.empty() && ended.signal == 0;
    say(fmt::format("{} failed first: {}{}{}", name_of(rank), describe(ended),
                    no_connection ? " (the connection failed, or the program)" : "",
                    next == Next::EndOthers && group_.running() > 0 ? "; ending the others" : ""));
  } else if (verdict_.failed(ended, group_.ending()) && options_.policy.keep_going &&
             !group_.ending()) {
    say(fmt::format("{} failed: {}", name_of(rank), describe(ended)));
  }
  if (next == Next::EndOthers) {
    if (options_.kill_others && ended.signal == 0)
      group_.kill();
    else
      group_.end(SIGTERM);
  }
  if (group_.running() == 0) output_.flush([this] { loop_.stop(); });
}

void Job::output_failed(Stream stream, int error) {
  // The reader has closed it, as `| head` does; or it cannot be written.
  if (broken_ == 0) broken_ = error == EPIPE ? 128 + SIGPIPE : 1;
  say(fmt::format("{} cannot be written: {}; ending the job",
                  stream == Stream::Out ? "stdout" : "stderr", std::strerror(error)));
  group_.end(SIGTERM);
}

int Job::status() const { return broken_ != 0 ? broken_ : verdict_.status(); }

std::string Job::name_of(std::uint32_t rank) const {
  for (const HostShare& s : plan_.shares)
    if (rank >= s.first && rank - s.first < s.count && !s.host.empty())
      return fmt::format("{} {} on {}", options_.called, rank, s.host);
  return fmt::format("{} {}", options_.called, rank);
}

void Job::say(const std::string& what) { tell(fmt::format("{}: {}", options_.speaker, what)); }

void Job::tell(const std::string& line) { output_.write(Stream::Err, kOurself, line + "\n"); }

}  // namespace shoal
