// Gossip: the weights of a view's members and of messages in flight add up to 1 from the beginning
// of the view on. The weight received is the weight sent, and a member's weight changes by sending
// and receiving only. So weights lost with a member or a view are restored when the next view
// begins.
#include <bit>
#include <cmath>
#include <deque>
#include <map>
#include <utility>

#include "sim/checkers/checker.h"

namespace shoal {
namespace {

constexpr double kRounding = 1e-12;  // relative to a sum of weights

class WeightsConserved final : public Checker {
 public:
  std::string_view name() const override { return "weights conserved"; }

  void on(const Event& e) override {
    if (e.kind == EventKind::ViewSeen) views_[e.generation].members = e.a;
    const auto it = views_.find(e.generation);
    if (it == views_.end()) return;
    View& view = it->second;
    const auto weight = std::bit_cast<double>(e.a);
    const auto own = std::bit_cast<double>(e.b);
    if (e.kind == EventKind::WeightHeld) {
      saw();
      view.held[e.node] = weight;
    } else if (e.kind == EventKind::WeightSent) {
      saw();
      change(view, e, own, -weight);
      view.under_way[{e.node, e.peer}].push_back(weight);
    } else if (e.kind == EventKind::WeightTaken) {
      saw();
      change(view, e, own, weight);
      arrive(view, e, weight);
    } else {
      return;
    }
    const double sum = view.sum();
    if (view.held.size() == view.members && std::abs(sum - 1) > kRounding)
      violated(e, "the weights of view {} add up to {}", e.generation, sum);
  }

 private:
  struct View {
    std::uint64_t members = 0;
    std::map<NodeId, double> held;
    std::map<std::pair<NodeId, NodeId>, std::deque<double>> under_way;

    double sum() const {
      double all = 0;
      for (const auto& [node, weight] : held) all += weight;
      for (const auto& [way, messages] : under_way)
        for (const double weight : messages) all += weight;
      return all;
    }
  };

  void change(View& view, const Event& e, double now, double by) {
    double& held = view.held[e.node];
    if (std::abs(held + by - now) > kRounding)
      violated(e, "a weight of {} became {} although {} was sent or received", held, now, by);
    held = now;
  }
  void arrive(View& view, const Event& e, double weight) {
    std::deque<double>& messages = view.under_way[{e.peer, e.node}];
    if (messages.empty() || messages.front() != weight)
      violated(e, "a weight of {} arrived that was not sent", weight);
    if (!messages.empty()) messages.pop_front();
  }

  std::map<Generation, View> views_;
};

}  // namespace

std::unique_ptr<Checker> make_weights_conserved() { return std::make_unique<WeightsConserved>(); }

}  // namespace shoal
