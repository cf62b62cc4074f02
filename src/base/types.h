// Strong types of the seam, so that two adjacent numbers of different meaning never share a type.
//
// An Id names a thing and can only be compared; a Quantity can also be added and scaled. Durations
// are those of std::chrono: 100ms.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace shoal {

template <class Name, class Rep>
class Id {
 public:
  using rep = Rep;
  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value_(v) {}
  constexpr Rep value() const { return value_; }
  constexpr Id next() const { return Id(value_ + 1); }
  constexpr Id previous() const { return Id(value_ - 1); }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  Rep value_ = 0;
};

template <class Name, class Rep>
class Quantity {
 public:
  using rep = Rep;
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : value_(v) {}
  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity o) {
    value_ += o.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value_ -= o.value_;
    return *this;
  }
  constexpr Quantity& operator++() {
    ++value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, Rep k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(Rep k, Quantity a) { return a * k; }
  friend constexpr Quantity operator/(Quantity a, Rep k) { return Quantity(a.value_ / k); }
  friend constexpr Rep operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }

 private:
  Rep value_ = 0;
};

using NodeId = Id<struct NodeIdName, std::uint32_t>;            // a node, for the whole job
using HostId = Id<struct HostIdName, std::uint32_t>;            // the machine on which it runs
using Rank = Id<struct RankName, std::uint32_t>;                // position in one view, 0..P-1
using Incarnation = Id<struct IncarnationName, std::uint32_t>;  // the life of a node
using Generation = Id<struct GenerationName, std::uint32_t>;    // the number of a view
using GroupId = Id<struct GroupIdName, std::uint16_t>;  // separates the messages of different users
using Seed = Id<struct SeedName, std::uint64_t>;
using SampleId = std::uint64_t;  // index into the dataset

using Step = Quantity<struct StepName, std::uint64_t>;  // optimizer steps, t
using Bytes = Quantity<struct BytesName, std::uint64_t>;
using Elements = Quantity<struct ElementsName, std::uint64_t>;  // of a flat arena

// Time since the job began: real on a live node, virtual in simulation.
struct Timeline {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Timeline>;
  static constexpr bool is_steady = true;
};
using Duration = Timeline::duration;
using Time = Timeline::time_point;

constexpr double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }
constexpr double seconds(Time t) { return seconds(t.time_since_epoch()); }
// REQUIRES: s is finite and fits 64 bits of nanoseconds.
constexpr Duration from_seconds(double s) {
  return Duration(static_cast<Duration::rep>(s * 1e9 + (s < 0 ? -0.5 : 0.5)));
}

// Any node of any incarnation; also "nobody" in records.
inline constexpr NodeId kNobody{0xffff'ffffU};

}  // namespace shoal

template <class Name, class Rep>
struct std::hash<shoal::Id<Name, Rep>> {
  std::size_t operator()(shoal::Id<Name, Rep> id) const { return std::hash<Rep>()(id.value()); }
};

// Supports only "{}": the formatters of fmt/core.h, which compiles fast, have no format options.
template <class Name, class Rep>
struct fmt::formatter<shoal::Id<Name, Rep>> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(shoal::Id<Name, Rep> id, Context& context) const {
    return fmt::format_to(context.out(), "{}", id.value());
  }
};

template <class Name, class Rep>
struct fmt::formatter<shoal::Quantity<Name, Rep>> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(shoal::Quantity<Name, Rep> q, Context& context) const {
    return fmt::format_to(context.out(), "{}", q.value());
  }
};
