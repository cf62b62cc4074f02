#include "app/calibrate_node.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "collective/dissemination.h"
#include "collective/links.h"
#include "collective/reduce.h"
#include "collective/steps.h"
#include "encoded/encoder.h"
#include "optim/update.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

constexpr GroupId kCalibration{6};
constexpr int kWarmUp = 2;
constexpr std::uint64_t kRoundsMin = 5, kRoundsMax = 40;
constexpr std::uint64_t kElementRounds = 7;
constexpr std::uint64_t kTrafficRounds = 3;
constexpr Elements kParcel{256 * 1024};  // elements of a message that keeps a link busy
constexpr double kStreamSeconds = 0.15;  // until a link is down to its sustained rate
constexpr double kParcelBytes = 4.0 * 256 * 1024;
constexpr std::uint64_t kLargeParcels = 3;
constexpr double kOneWay = 0.7;  // of the usual rate; half of it, if they really are
constexpr std::uint64_t kParcelsMin = 8, kParcelsMax = 400;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

using Round = std::vector<double>;  // seconds until each tensor was ready
using Once = std::function<Task<void>()>;

class Calibrator {
 public:
  Calibrator(Node& node, Learner& learner, const CalibrateOptions& options, ViewPtr view)
      : node_(node),
        env_(node.env),
        learner_(learner),
        options_(options),
        group_(node, kCalibration, std::move(view)),
        n_(learner.layout().parameters()),
        state_(node.endpoint, learner.layout().all(), Substance::Real),
        g_(node.endpoint, n_, Substance::Real),
        slots_(node.endpoint, n_ * std::max(1U, slots(options.rule)), Substance::Real),
        links_(node.endpoint, Substance::Real) {}

  Task<void> run(Calibration& found);

 private:
  Task<Round> gradient(std::uint64_t batch, GradientSink* sink = nullptr);
  Task<std::vector<Round>> gradients(std::uint64_t batch, std::uint64_t rounds, bool together);
  Task<GradientTimes> times_of(std::uint64_t batch, Calibration& found);
  Task<double> work(const Once& once);
  Task<void> measure_work(ElementCosts& costs);
  Task<void> measure_encoding(ElementCosts& costs);
  Task<LinkModel> measure_link(const LinkCost& cost, bool between, double usual_s);
  Task<double> stream(std::uint64_t parcels, ConstBuf out, MutBuf in);
  Task<double> stream(std::uint64_t parcels);
  Task<void> stream_out(Tag tag, std::uint64_t parcels, ConstBuf out);
  Task<Bytes> one_way_above(double bytes_per_s);
  Task<double> cores_taken(std::uint64_t parcels, double usual_s);
  Task<std::vector<double>> mean_of_all(std::vector<double> own);
  Task<void> meet() { return barrier(group_, operation_++); }

  Node& node_;
  Env& env_;
  Learner& learner_;
  const CalibrateOptions& options_;
  Group group_;
  Elements n_;
  Arena state_, g_, slots_;
  LinkRoom links_;
  Gathering gathering_;
  std::vector<Elements> tensors_;
  std::uint64_t operation_ = 0;
};

Task<std::vector<double>> Calibrator::mean_of_all(std::vector<double> own) {
  const std::span<const double> mine = own;
  const std::vector<double> all = co_await gathering_.of_all(group_, mine, operation_++);
  std::vector<double> mean(own.size(), 0);
  for (std::size_t i = 0; i < all.size(); ++i)
    mean[i % own.size()] += all[i] / static_cast<double>(group_.size());
  co_return mean;
}

// ---- Gradients

Task<Round> Calibrator::gradient(std::uint64_t batch, GradientSink* sink) {
  Portion portion;
  portion.samples.resize(batch);
  std::iota(portion.samples.begin(), portion.samples.end(),
            SampleId{group_.rank.value() * batch % std::max<std::uint64_t>(1, options_.samples)});
  for (SampleId& id : portion.samples) id %= options_.samples;
  const GradientTarget target{g_.all(), sink};
  Channel<Ready> ready;
  Score score;
  Round round;
  tensors_.clear();
  const Time begin = env_.now();
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    tasks.spawn(learner_.gradient(env_, state_.all(), target, std::move(portion), ready, score));
    while (auto bucket = co_await ready.next()) {
      tensors_.push_back(bucket->n);
      round.push_back(seconds(env_.now() - begin));
    }
  });
  round.back() = seconds(env_.now() - begin);
  co_return round;
}

Task<std::vector<Round>> Calibrator::gradients(std::uint64_t batch, std::uint64_t rounds,
                                               bool together) {
  std::vector<Round> all;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    if (together) co_await meet();
    all.push_back(co_await gradient(batch));
  }
  co_return all;
}

Task<GradientTimes> Calibrator::times_of(std::uint64_t batch, Calibration& found) {
  const std::vector<Round> warm = co_await gradients(batch, kWarmUp, true);
  const auto wish = static_cast<std::uint64_t>(options_.seconds / warm.back().back());
  const std::uint64_t own = std::clamp(wish, kRoundsMin, kRoundsMax);
  const std::vector<std::uint64_t> wishes = co_await gathering_.of_all(group_, own, operation_++);
  const std::uint64_t rounds = *std::ranges::max_element(wishes);

  GradientTimes times;
  times.batch = batch;
  const std::vector<Round> made = co_await gradients(batch, rounds, true);
  std::vector<double> ends;
  for (const Round& round : made) ends.push_back(round.back());
  const double usual = median(ends);
  // As of a normal distribution with the same mean distance: single slow rounds count little.
  double distance = 0;
  for (const double end : ends) distance += std::abs(end / usual - 1);
  // Takes the times of all tensors from the median round, so that they stay in order.
  std::vector<double> ready;
  for (std::size_t k = 0; k < tensors_.size(); ++k) {
    std::vector<double> each;
    for (const Round& round : made) each.push_back(round[k] / round.back());
    ready.push_back(median(each) * usual);
  }
  ready.push_back(1.25 * distance / static_cast<double>(rounds));
  times.ready = co_await mean_of_all(std::move(ready));
  found.jitter = times.ready.back();
  times.ready.pop_back();
  for (std::size_t k = 1; k < times.ready.size(); ++k)
    times.ready[k] = std::max(times.ready[k], times.ready[k - 1]);

  co_await meet();
  double alone = 0;
  if (group_.rank == Rank(0)) {
    const std::vector<Round> single = co_await gradients(batch, kRoundsMin, false);
    std::vector<double> lone;
    for (const Round& round : single) lone.push_back(round.back());
    alone = median(lone);
  }
  const std::vector<double> told = co_await gathering_.of_all(group_, alone, operation_++);
  times.alone = told[0];
  co_return times;
}

// ---- Other work

// Nanoseconds an element, all workers at once.
Task<double> Calibrator::work(const Once& once) {
  std::vector<double> took;
  for (std::uint64_t i = 0; i < kElementRounds; ++i) {
    co_await meet();
    const Time begin = env_.now();
    co_await once();
    took.push_back(seconds(env_.now() - begin));
  }
  std::vector<double> own{median(took) * 1e9 / static_cast<double>(n_.value())};
  const std::vector<double> mean = co_await mean_of_all(std::move(own));
  co_return mean[0];
}

Task<void> Calibrator::measure_work(ElementCosts& costs) {
  const Range w = state_.range(Elements(0), n_);
  const Range g = g_.all();
  const Once reduce = [&]() -> Task<void> {
    std::vector<const float*> terms{w.data().data(), g.data().data()};
    return sum_up(env_, w, 2, std::move(terms));
  };
  const Once move = [&]() -> Task<void> {
    co_await env_.work(Work::Copy, n_, [&] { copy(g.bytes(), w.bytes()); });
  };
  std::uint64_t t = 0;
  const Once change = [&]() -> Task<void> {
    const UpdateTarget all{w, g, slots_.all(), Elements(0), {}};
    return update(env_, options_.rule, UpdateStep{0.01, ++t, 64}, all);
  };
  costs.reduce = co_await work(reduce);
  costs.copy = co_await work(move);
  costs.update = co_await work(change);
}

// Where backward makes the gradients, and with what they leave of the caches: a pass that encodes
// against one that does not. Of two messages the first is put where the sum shall be, and the other
// added.
Task<void> Calibrator::measure_encoding(ElementCosts& costs) {
  if (options_.encoding == Encoding() || !has_codec(options_.encoding)) co_return;
  Encoder encoder(node_.endpoint, {.encoding = options_.encoding}, learner_.pieces(),
                  Substance::Real);
  const std::uint64_t batch = options_.batches.back();
  std::vector<double> encoding, decoding;
  for (std::uint64_t i = 0; i < kElementRounds; ++i) {
    co_await meet();
    const Round plain = co_await gradient(batch);
    encoder.begin(Step(i), 0, group_.rank);
    encoder.prepare_to_take();
    co_await meet();
    const Round whole = co_await gradient(batch, &encoder);
    encoding.push_back(whole.back() - plain.back());
    const ConstBuf message = encoder.taken(g_.all()).value();
    encoder.commit();
    co_await meet();
    const Time begin = env_.now();
    co_await env_.work(Work::Decode, n_, [&] { encoder.decode(message, g_.all(), node_.id); });
    co_await env_.work(Work::Decode, n_, [&] { encoder.decode_add(message, g_.all(), node_.id); });
    decoding.push_back(seconds(env_.now() - begin) / 2);
  }
  const double each = 1e9 / static_cast<double>(n_.value());
  const std::vector<double> own{std::max(0.0, median(encoding)) * each, median(decoding) * each};
  const std::vector<double> mean = co_await mean_of_all(own);
  costs.encode = mean[0];
  costs.decode = mean[1];
}

// ---- Links

Task<void> Calibrator::stream_out(Tag tag, std::uint64_t parcels, ConstBuf out) {
  for (std::uint64_t i = 0; i < parcels; ++i)
    co_await node_.endpoint.send(group_.peer(1), tag, out);
}

// Around the ring, all at once, and so both ways over each link of two: seconds until all are here.
Task<double> Calibrator::stream(std::uint64_t parcels, ConstBuf out, MutBuf in) {
  const Tag tag = group_.tag(operation_, 0);
  const Time begin = env_.now();
  double took = 0;
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    tasks.spawn(stream_out(tag, parcels, out));
    for (std::uint64_t i = 0; i < parcels; ++i) co_await receive(group_, group_.peer(-1), tag, in);
    took = seconds(env_.now() - begin);
  });
  co_return took;
}

Task<double> Calibrator::stream(std::uint64_t parcels) {
  return stream(parcels, links_.data.range(Elements(0), kParcel).bytes(),
                links_.data.range(kParcel, kParcel).bytes());
}

// Which messages, of those that this model may have, take as long as if both ways were one.
Task<Bytes> Calibrator::one_way_above(double bytes_per_s) {
  for (Elements n = kParcel * 2; n <= n_; n = n * 2) {
    const Range out = g_.range(Elements(0), n);
    const Range in = state_.range(Elements(0), n);
    co_await meet();
    const double here = co_await stream(kLargeParcels, out.bytes(), in.bytes());
    ++operation_;
    std::vector<double> own{here};
    const std::vector<double> took = co_await mean_of_all(std::move(own));
    const double rate = static_cast<double>(kLargeParcels * out.bytes().size.value()) / took[0];
    if (rate < kOneWay * bytes_per_s) co_return Bytes(n.value() * sizeof(float) / 2);
  }
  co_return Bytes(0);
}

// What a byte takes of the cores is by how much gradients are slower while bytes go both ways: ns.
Task<double> Calibrator::cores_taken(std::uint64_t parcels, double usual_s) {
  std::vector<double> costs;
  for (std::uint64_t i = 0; i < kTrafficRounds; ++i) {
    co_await meet();
    double streamed = 0;
    Round round;
    const auto traffic = [&]() -> Task<> { streamed = co_await stream(parcels); };
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      tasks.spawn(traffic());
      round = co_await gradient(options_.batches.back());
    });
    ++operation_;
    const double took = round.back();
    const double bytes =
        2 * kParcelBytes * static_cast<double>(parcels) * took / std::max(took, streamed);
    costs.push_back(std::max(0.0, 1e9 * (took - usual_s) / bytes));
  }
  std::vector<double> own{median(costs)};
  const std::vector<double> mean = co_await mean_of_all(std::move(own));
  co_return mean[0];
}

Task<LinkModel> Calibrator::measure_link(const LinkCost& cost, bool between, double usual_s) {
  const double each = cost.alpha + kParcelBytes * cost.beta;
  const auto parcels_in = [&](double s) {
    return std::clamp(static_cast<std::uint64_t>(std::ceil(s / each)), kParcelsMin, kParcelsMax);
  };
  const std::uint64_t parcels = parcels_in(kStreamSeconds);
  co_await meet();
  const double here = co_await stream(parcels);
  ++operation_;
  std::vector<double> own{here};
  const std::vector<double> took = co_await mean_of_all(std::move(own));
  LinkModel link;
  link.latency = from_seconds(cost.alpha);
  link.bytes_per_s = kParcelBytes * static_cast<double>(parcels) / took[0];
  // Inside a host all of them share one memory.
  if (!between) link.bytes_per_s *= static_cast<double>(group_.size());
  link.overhead = Bytes(static_cast<std::uint64_t>(cost.overhead * link.bytes_per_s));
  if (between) link.one_way_above = co_await one_way_above(link.bytes_per_s);
  link.cpu_ns_per_byte = co_await cores_taken(parcels_in(1.5 * usual_s), usual_s);
  co_return link;
}

Task<void> Calibrator::run(Calibration& found) {
  learner_.initialize(state_.all());
  const std::vector<std::uint64_t> kernels =
      co_await gathering_.of_all(group_, options_.kernel, operation_++);
  // The share of this machine's cores for the workers of this host.
  double here = 0, machine = 0;
  for (std::size_t r = 0; r < kernels.size(); ++r) {
    if (kernels[r] != options_.kernel) continue;
    ++machine;
    if (group_.on_this_host(group_.at(r))) ++here;
  }
  found.cores = static_cast<double>(options_.cores) * here / machine;
  for (const std::uint64_t batch : options_.batches)
    found.gradients.push_back(co_await times_of(batch, found));
  found.tensors = tensors_;
  co_await measure_encoding(found.elements);
  co_await measure_work(found.elements);  // which leaves nothing of the parameters
  if (group_.size() == 1) co_return;
  const CostModel costs = co_await measure_links(group_, links_, operation_);
  operation_ += 2;
  const double usual = found.gradients.back().ready.back();
  const bool between = group_.hosts() > 1;
  const bool inside = group_.hosts() < group_.size();
  // Around the ring of all: between hosts where there are several.
  const LinkCost& cost = between ? costs.between : costs.inside;
  const LinkModel traffic = co_await measure_link(cost, between, usual);
  if (between) found.between = traffic;
  if (inside && !between) found.inside = traffic;
  if (!inside || !between) co_return;
  found.inside.emplace();
  found.inside->latency = from_seconds(costs.inside.alpha);
  found.inside->bytes_per_s = costs.inside.beta > 0 ? 1 / costs.inside.beta : 0;
}

}  // namespace

Task<void> calibrate_node(Node& node, Learner& learner, const CalibrateOptions& options,
                          Calibration& found) {
  const ViewPtr view = co_await node.membership.after(Generation(0));
  if (view->size() != options.workers)
    throw Error(fmt::format("{} of {} workers are there; a measurement needs all of them",
                            view->size(), options.workers));
  Calibrator calibrator(node, learner, options, view);
  co_await calibrator.run(found);
  co_await node.endpoint.retire(kCalibration, view->generation);
}

}  // namespace shoal
