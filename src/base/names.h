// The names of an enum's values, in one table for both directions:
//
//   constexpr auto kWorkNames =
//       names<Work>({{Work::Forward, "forward"}, {Work::Backward, "backward"}});
//   static_assert(kWorkNames.size() == kWorkKinds);
//
// The compiler counts the rows and refuses a table that leaves out a value, has one twice or is not
// in the order of the enum. count_up_to(Work::Io) is the number of values, for arrays by value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal {

// The number of values of an enum that begins at 0, from its last one.
template <class Enum>
constexpr std::size_t count_up_to(Enum last) {
  return static_cast<std::size_t>(last) + 1;
}

// Throws ConfigError: "WHAT 'TEXT' is not known. Did you mean ...".
[[noreturn]] void refuse_name(std::string_view what, std::string_view text,
                              std::span<const std::string_view> known);

template <class Enum>
struct NameRow {
  Enum value;
  std::string_view name;
};

template <class Enum, std::size_t N>
class Names {
 public:
  consteval explicit Names(const NameRow<Enum> (&rows)[N]) {
    for (std::size_t i = 0; i < N; ++i) {
      if (static_cast<std::size_t>(rows[i].value) != i) throw "the rows follow the enum's order";
      for (std::size_t k = 0; k < i; ++k)
        if (rows[k].name == rows[i].name) throw "each name is there once";
      names_[i] = rows[i].name;
    }
  }

  static constexpr std::size_t size() { return N; }
  constexpr std::span<const std::string_view> all() const { return names_; }
  constexpr std::string_view of(Enum value) const {
    return names_.at(static_cast<std::size_t>(value));
  }
  constexpr std::optional<Enum> find(std::string_view name) const {
    for (std::size_t i = 0; i < N; ++i)
      if (names_[i] == name) return static_cast<Enum>(i);
    return std::nullopt;
  }
  // The value of this name; throws ConfigError with the nearest name. `what` is for the message, as
  // "--optimizer" or "optimizer".
  Enum parse(std::string_view what, std::string_view text) const {
    const std::optional<Enum> value = find(text);
    if (!value) refuse_name(what, text, names_);
    return *value;
  }

 private:
  std::array<std::string_view, N> names_;
};

template <class Enum, std::size_t N>
consteval Names<Enum, N> names(const NameRow<Enum> (&rows)[N]) {
  return Names<Enum, N>(rows);
}

}  // namespace shoal
