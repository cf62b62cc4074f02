// shoal bench: measures, verifies the results, and prints targets and peers beside them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/parse.h"
#include "bench/codec_bench.h"
#include "bench/collective_bench.h"
#include "bench/collective_rank.h"
#include "bench/hogwild_bench.h"
#include "bench/optim_bench.h"
#include "bench/ps_bench.h"
#include "bench/ps_rank.h"
#include "bench/sim_bench.h"
#include "bench/train_bench.h"
#include "bench/transport_bench.h"
#include "bench/transport_rank.h"
#include "cli/commands.h"

namespace shoal {
namespace {

struct BenchFlags {
  double scale = 1;
  std::int64_t repeats = 5;
  std::string json;
  bool markdown = false;
  std::string two_hosts;
};

struct TrainOptions {
  std::string peer = "pytorch";
  std::string python = "/usr/bin/python3";
  std::string models;
  std::string threads = "1";
  std::uint64_t workers = 1;
  bool no_tune = false;
  double within = 0;
};

struct CollectiveOptions {
  std::string peer = "gloo,mpi";
  std::string bytes = "4096,4194304,67108864";
  std::uint64_t procs = 2;
  std::string transport = "shm";
  std::string exchange = "auto";
};

struct PsOptions {
  std::string bytes = "67108864";
  std::uint64_t servers = 1;
  std::string consistency = "synchronous";
};

struct RankOptions {
  std::string operation = "latency";
  std::string transport = "ucx";
  std::uint64_t size = 8;
  std::uint64_t iterations = 1000;
};

void write_json(const std::string& path, const std::vector<BenchRow>& rows) {
  nlohmann::json all = nlohmann::json::array();
  for (const BenchRow& row : rows) {
    all.push_back({{"case", row.name},
                   {"ours", row.ours},
                   {"unit", row.unit},
                   {"target", row.target},
                   {"peers", row.peers},
                   {"ratio", row.ratio()},
                   {"verified", row.verified},
                   {"note", row.note}});
    if (row.op.empty()) continue;
    all.back()["op"] = row.op;
    all.back()["bytes"] = row.bytes;
    all.back()["procs"] = row.procs;
  }
  std::ofstream file(path);
  file << all.dump(2) << '\n';
  if (!file.flush())
    throw DataError(fmt::format("cannot write '{}'; is the folder there and writable?", path));
}

std::string target_of(const BenchRow& row) {
  if (row.target <= 0) return "";
  return fmt::format("{} {:.4g}", row.higher_is_better ? ">=" : "<=", row.target);
}

// Latencies need decimals, rates do not.
std::string number(double value) {
  return value < 1000 ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value);
}

std::string peers_of(const BenchRow& row) {
  std::string text;
  for (const auto& [peer, value] : row.peers)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", peer, number(value));
  return text;
}

void print_rows(const std::vector<BenchRow>& rows) {
  fmt::print("{:<34} {:>14} {:<12} {:>12}  {:<24} {}\n", "case", "ours", "unit", "target", "peers",
             "how");
  for (const BenchRow& row : rows)
    fmt::print("{:<34} {:>14} {:<12} {:>12}  {:<24} {}{}\n", row.name, number(row.ours), row.unit,
               target_of(row), peers_of(row), row.note, row.verified ? "" : "  WRONG RESULT");
}

void print_markdown_rows(const std::vector<BenchRow>& rows) {
  fmt::print(
      "| case | ours | unit | target | peers | how | result verified |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const BenchRow& row : rows)
    fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", row.name, number(row.ours), row.unit,
               target_of(row), peers_of(row), row.note, row.verified ? "yes" : "NO");
}

ExitCode show(const BenchFlags& o, const std::vector<BenchRow>& rows) {
  if (o.markdown) {
    print_markdown_rows(rows);
  } else {
    print_rows(rows);
  }
  if (!o.json.empty()) write_json(o.json, rows);
  const bool verified = std::ranges::all_of(rows, &BenchRow::verified);
  return verified ? ExitCode::kOk : ExitCode::kCorrectness;
}

void require_length(const BenchFlags& o) {
  if (!(o.scale > 0) || o.scale > 100)
    throw ConfigError(fmt::format("--scale {} is not in (0, 100]; 1 is a full run", o.scale));
  if (o.repeats < 1 || o.repeats > 1000)
    throw ConfigError(fmt::format("--repeats {} is not in 1..1000", o.repeats));
}

ExitCode run_sim(const BenchFlags& o) {
  require_length(o);
  return show(o, bench_sim(o.scale, static_cast<int>(o.repeats)));
}

ExitCode run_optim(const BenchFlags& o) {
  require_length(o);
  return show(o, bench_optim(o.scale, static_cast<int>(o.repeats)));
}

ExitCode run_codec(const BenchFlags& o) {
  require_length(o);
  return show(o, bench_codec(o.scale, static_cast<int>(o.repeats)));
}

ExitCode run_hogwild(const BenchFlags& o) {
  require_length(o);
  return show(o, bench_hogwild(o.scale, static_cast<int>(o.repeats)));
}

// Compares this program with tools/two-hosts of its source tree.
ExitCode run_transport(const BenchFlags& o) {
  if (o.repeats < 1 || o.repeats > 1000)
    throw ConfigError(fmt::format("--repeats {} is not in 1..1000", o.repeats));
  TransportBenchOptions transport;
  transport.shoal = std::filesystem::read_symlink("/proc/self/exe");
  transport.two_hosts = o.two_hosts;
  transport.rounds = static_cast<int>(o.repeats);
  return show(o, bench_transport(transport));
}

std::vector<std::string> words_in(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

std::vector<std::uint64_t> sizes_in(const std::string& list) {
  constexpr std::string_view kExpected = "multiples of 4 up to 16 GiB, as 4096,4194304";
  constexpr NumberRange<std::uint64_t> kSizes{0, std::uint64_t{16} << 30U};
  auto sizes = require_numbers("--bytes", list, kExpected, kSizes);
  for (const std::uint64_t n : sizes)
    if (n % sizeof(float) != 0)
      throw ConfigError(fmt::format("--bytes {}: expected {}", list, kExpected));
  return sizes;
}

ExitCode run_collective(const BenchFlags& o, const CollectiveOptions& c) {
  require_length(o);
  if (c.procs < 2 || c.procs > 1024)
    throw ConfigError(fmt::format("--procs {} is not in 2..1024", c.procs));
  CollectiveBenchOptions collective;
  collective.shoal = std::filesystem::read_symlink("/proc/self/exe");
  collective.peers = words_in(c.peer);
  collective.bytes = sizes_in(c.bytes);
  collective.procs = c.procs;
  collective.two_hosts = o.two_hosts;
  collective.rounds = static_cast<int>(o.repeats);
  return show(o, bench_collective(collective));
}

ExitCode run_collective_one(const CollectiveOptions& c) {
  CollectiveRankOptions rank;
  rank.bytes = sizes_in(c.bytes);
  rank.transport = c.transport;
  rank.exchange = c.exchange;
  rank.procs = c.procs;
  run_collective_rank(rank);
  return ExitCode::kOk;
}

ExitCode run_ps(const BenchFlags& o, const PsOptions& p) {
  require_length(o);
  PsBenchOptions ps;
  ps.shoal = std::filesystem::read_symlink("/proc/self/exe");
  ps.bytes = sizes_in(p.bytes).at(0);
  ps.rounds = static_cast<int>(o.repeats);
  ps.scale = o.scale;
  return show(o, bench_ps(ps));
}

ExitCode run_ps_one(const PsOptions& p) {
  PsRankOptions rank;
  rank.servers = p.servers;
  rank.bytes = sizes_in(p.bytes).at(0);
  rank.consistency = p.consistency;
  run_ps_rank(rank);
  return ExitCode::kOk;
}

ExitCode run_training(const BenchFlags& o, const TrainOptions& t) {
  require_length(o);
  if (t.workers < 1 || t.workers > 1024)
    throw ConfigError(fmt::format("--workers {} is not in 1..1024", t.workers));
  if (!(t.within >= 0))
    throw ConfigError(
        fmt::format("--within {}: expected a number of seconds; 0 means no limit", t.within));
  TrainBenchOptions train;
  train.shoal = std::filesystem::read_symlink("/proc/self/exe");
  train.peer = t.peer;
  train.python = t.python;
  train.models = words_in(t.models);
  train.threads =
      require_numbers<int>("--threads", t.threads, "whole numbers from 1 to 1024", {1, 1024});
  train.rounds = static_cast<int>(o.repeats);
  train.scale = o.scale;
  train.tune = !t.no_tune;
  train.within_s = t.within;
  train.workers = static_cast<int>(t.workers);
  return show(o, bench_train(train));
}

ExitCode run_rank(const RankOptions& o) {
  TransportRankOptions rank;
  rank.operation = o.operation;
  rank.transport = o.transport;
  rank.size = Bytes(o.size);
  rank.iterations = o.iterations;
  run_transport_rank(rank);
  return ExitCode::kOk;
}

}  // namespace

Command bench_command() {
  auto o = std::make_shared<BenchFlags>();
  Command sim{.name = "sim",
              .summary = "the simulator: messages a second, memory of a node, a thousand nodes",
              .options = {{"--scale", "length of the runs; 0.01 is a smoke test", &o->scale},
                          {"--repeats", "number of runs; the median counts", &o->repeats},
                          {"--json", "also write the rows to this file", &o->json},
                          {"--markdown", "print the table as Markdown", &o->markdown}},
              .run = [o] { return run_sim(*o); }};
  Command transport{
      .name = "transport",
      .summary = "messages between two processes, beside ucx_perftest, memcpy and iperf3",
      .options = {{"--repeats", "rounds, ours and the peer's in turn; medians count", &o->repeats},
                  {"--two-hosts", "path of tools/two-hosts, for the part over a slow link (root)",
                   &o->two_hosts},
                  {"--json", "also write the rows to this file", &o->json},
                  {"--markdown", "print the table as Markdown", &o->markdown}},
      .run = [o] { return run_transport(*o); }};
  auto p = std::make_shared<BenchFlags>();
  p->repeats = 9;
  Command optim{.name = "optim",
                .summary = "updates of 5.8 M parameters by every optimizer, beside memcpy",
                .options = {{"--scale", "size of the model; 0.01 is a smoke test", &p->scale},
                            {"--repeats", "updates and copies in turn; medians count", &p->repeats},
                            {"--json", "also write the rows to this file", &p->json},
                            {"--markdown", "print the table as Markdown", &p->markdown}},
                .run = [p] { return run_optim(*p); }};
  Command codec{
      .name = "codec",
      .summary = "encoding and decoding 4.2 M elements by every encoding, on one core",
      .options = {{"--scale", "size of the gradient; 0.01 is a smoke test", &p->scale},
                  {"--repeats", "encodings and copies in turn; medians count", &p->repeats},
                  {"--json", "also write the rows to this file", &p->json},
                  {"--markdown", "print the table as Markdown", &p->markdown}},
      .run = [p] { return run_codec(*p); }};
  Command hogwild{.name = "hogwild",
                  .summary = "two threads that share a model without locks, beside one, and a lock",
                  .options = {{"--scale", "samples; 0.05 is a smoke test", &p->scale},
                              {"--repeats", "rounds, all in turn; medians count", &p->repeats},
                              {"--json", "also write the rows to this file", &p->json},
                              {"--markdown", "print the table as Markdown", &p->markdown}},
                  .run = [p] { return run_hogwild(*p); }};
  auto c = std::make_shared<CollectiveOptions>();
  Command collective{
      .name = "collective",
      .summary = "all-reduce between processes, beside gloo and Open MPI",
      .options = {{"--peer", "the peers: gloo, mpi or both; or none", &c->peer},
                  {"--procs", "number of processes", &c->procs},
                  {"--bytes", "sizes, separated by commas", &c->bytes},
                  {"--two-hosts", "path of tools/two-hosts, for the part over a slow link (root)",
                   &p->two_hosts},
                  {"--repeats", "rounds, ours and the peer's in turn; medians count", &p->repeats},
                  {"--json", "also write the rows to this file", &p->json},
                  {"--markdown", "print the table as Markdown", &p->markdown}},
      .run = [p, c] { return run_collective(*p, *c); }};
  Command collective_rank{
      .name = "collective-rank",
      .summary = "one of the processes that bench collective measures",
      .options = {{"--bytes", "sizes, separated by commas", &c->bytes},
                  {"--procs", "number of processes", &c->procs},
                  {"--transport", "over what", &c->transport, false, {"ucx", "shm"}},
                  {"--exchange", "the algorithm", &c->exchange}},
      .run = [c] { return run_collective_one(*c); }};
  auto s = std::make_shared<PsOptions>();
  Command ps{.name = "ps",
             .summary = "parameter servers: push and pull, many servers, a step, beside all-reduce",
             .options = {{"--bytes", "of the model that is pushed and pulled", &s->bytes},
                         {"--scale", "length of a training run; 0.1 is a smoke test", &p->scale},
                         {"--repeats", "rounds, all in turn; medians count", &p->repeats},
                         {"--json", "also write the rows to this file", &p->json},
                         {"--markdown", "print the table as Markdown", &p->markdown}},
             .run = [p, s] { return run_ps(*p, *s); }};
  Command ps_rank{.name = "ps-rank",
                  .summary = "one of the processes that bench ps measures",
                  .options = {{"--bytes", "of the model", &s->bytes},
                              {"--servers", "number of servers among the processes", &s->servers},
                              {"--consistency", "of the servers", &s->consistency}},
                  .run = [s] { return run_ps_one(*s); }};
  auto t = std::make_shared<TrainOptions>();
  Command train{
      .name = "train",
      .summary = "training, beside PyTorch's own loop, or its DDP with several workers",
      .options = {{"--workers", "number of workers, all on this host", &t->workers},
                  {"--peer", "beside what", &t->peer, false, {"pytorch", "none"}},
                  {"--python", "interpreter with torch, for the data and the peer", &t->python},
                  {"--models", "some of the models, separated by commas; by default all",
                   &t->models},
                  {"--threads",
                   "threads per worker, ours and the peer's; several values separated by commas",
                   &t->threads},
                  {"--no-tune", "do not probe the machine", &t->no_tune},
                  {"--scale", "length of a round; 0.05 is a smoke test", &p->scale},
                  {"--repeats", "rounds, ours and the peer's in turn; medians count", &p->repeats},
                  {"--within",
                   "start no further round of a model after this many seconds; 0: no limit",
                   &t->within},
                  {"--json", "also write the rows to this file", &p->json},
                  {"--markdown", "print the table as Markdown", &p->markdown}},
      .run = [p, t] { return run_training(*p, *t); }};
  auto r = std::make_shared<RankOptions>();
  Command rank{
      .name = "transport-rank",
      .summary = "one of the two processes that bench transport measures",
      .options =
          {{"--operation", "what to do", &r->operation, false, {"latency", "bandwidth", "read"}},
           {"--transport", "over what", &r->transport, false, {"ucx", "shm"}},
           {"--size", "bytes of a message", &r->size},
           {"--iterations", "how many", &r->iterations}},
      .run = [r] { return run_rank(*r); }};
  return {.name = "bench",
          .summary = "measure, and verify the results",
          .subcommands = {sim, transport, collective, codec, ps, optim, hogwild, train, rank,
                          collective_rank, ps_rank}};
}

}  // namespace shoal
