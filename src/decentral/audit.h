// Records for the checkers (sim/checkers/), in an audited job, that an exchange conserves what it
// must. A model is represented by its moment, a weighted sum of its numbers: an exchange that
// conserves every number conserves the moment, and a change of any number shows in it.
//
//   ConservationProbe move(round);
//   move.of(round.model());            // records its moment before
//   co_await mix(...);
//   move.with(peer);                   // and after: the changes of the two members add up to zero
//
// Cost: passes over the models that meet; nothing unless the job is audited.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decentral/training_round.h"
#include "runtime/range.h"

namespace shoal {

struct Moment {
  double sum = 0;
  double size = 0;  // the same sum of absolute values; bounds the rounding error

  void add(const Moment& other, double weight = 1);
};
// The moment of numbers that begin at element `at` of a model.
Moment moment_of(std::span<const float> x, Elements at = Elements(0));

class ConservationProbe {
 public:
  explicit ConservationProbe(TrainingRound& round) : round_(round) {}

  // Includes this range from now on.
  void of(Range range, double weight = 1);
  // Includes the current value of these numbers, or another probe's moment.
  void add(std::span<const float> numbers, double weight);
  void add(const Moment& moment) { told_.add(moment); }
  // The change of the total so far.
  Moment moment() const;
  // Ends the exchange: with one other member, with all (`number` is the same on all), or alone.
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

// Records for gossip the weight that this member sent or received, and its own weight afterwards.
void note_weight(ViewContext& context, EventKind kind, NodeId peer, double weight, double own);

}  // namespace shoal
