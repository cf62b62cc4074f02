// What the checkers are told of meetings where a job is audited (sim/checkers/): what an exchange
// must leave as it was. A model is told by its moment, a weighted sum of its numbers: what is
// conserved number by number is conserved in that, and a move in one of them shows.
//
//   ConservationProbe move(round);
//   move.of(round.model());             // its moment before
//   co_await mix(...);
//   move.with(peer);                  // and after: the two of an exchange add up to nothing
//
// Cost: passes over the models that meet; nothing where the job is not audited.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decentral/training_round.h"
#include "runtime/range.h"

namespace shoal {

struct Moment {
  double sum = 0;
  double size = 0;  // the same of absolute values: rounding is judged by it

  void add(const Moment& other, double weight = 1);
};
// Of numbers that begin at `at` of a model.
Moment moment_of(std::span<const float> x, Elements at = Elements(0));

class ConservationProbe {
 public:
  explicit ConservationProbe(TrainingRound& round) : round_(round) {}

  // Takes part from now on.
  void of(Range range, double weight = 1);
  // What is part of it as it is now, and what another move was.
  void add(std::span<const float> numbers, double weight);
  void add(const Moment& moment) { told_.add(moment); }
  // How far all of it has come.
  Moment moment() const;
  // It is over: with one other, with all members (the number is the same on all), or alone.
  void with(NodeId peer) const { record(peer, 0); }
  void with_all(std::uint64_t number) const { record(kNobody, number); }
  void alone() const { record(round_.context.node.id, 0); }

 private:
  struct Part {
    Range range;
    double weight;
  };
  void record(NodeId peer, std::uint64_t number) const;

  TrainingRound& round_;
  std::vector<Part> parts_;
  Moment before_;
  Moment told_;
};

// Of gossip: what of a weight goes or comes, and what the own one is then.
void note_weight(ViewContext& context, EventKind kind, NodeId peer, double weight, double own);

}  // namespace shoal
