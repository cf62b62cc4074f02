// Message lists: a conversation is a std::variant of structs, one for each kind of message. Each
// struct begins with a header, and the header with the kind, the index of the struct in the list.
// The receiver dispatches a message with std::visit.
#pragma once

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/types.h"
#include "runtime/buffer.h"

namespace shoal {

// Checks the layout of a message, which must be the same in all builds.
template <class Message, std::size_t size>
inline constexpr bool kLaidOut =
    sizeof(Message) ==
    size&& std::is_trivially_copyable_v<Message>&& std::is_standard_layout_v<Message>;

template <class List>
auto& header_of(List& message) {
  return std::visit(
      [](auto& one) -> auto& { return one.header; }, message);
}

// A message in the form in which it is sent: all messages of a list have one size, and end in
// zeros.
template <class List, std::size_t size>
class MessageFrame {
 public:
  template <class Message>
  void put(const Message& message) {
    static_assert(sizeof(Message) <= size);
    bytes_ = {};
    std::memcpy(bytes_.data(), &message, sizeof message);
  }
  // With its kind.
  void put(List message) {
    header_of(message).kind = static_cast<std::uint32_t>(message.index());
    std::visit([this](const auto& one) { put(one); }, message);
  }
  ConstBuf bytes() const { return {bytes_.data(), Bytes(size)}; }

  // The memory of a received message, and its content. Throws Corrupt for a kind that is not in the
  // list.
  MutBuf room() { return {bytes_.data(), Bytes(size)}; }
  List message(NodeId from) const {
    const auto kind = get<std::uint32_t>();
    List message;
    if (!take(message, kind, std::make_index_sequence<std::variant_size_v<List>>()))
      throw Corrupt(fmt::format("message from node {}: kind {} of {}", from, kind,
                                std::variant_size_v<List>));
    return message;
  }
  // Its beginning: a message of known kind, or a header.
  template <class Message>
  Message get() const {
    static_assert(sizeof(Message) <= size);
    Message message;
    std::memcpy(&message, bytes_.data(), sizeof message);
    return message;
  }

 private:
  template <std::size_t... I>
  bool take(List& message, std::uint32_t kind, std::index_sequence<I...>) const {
    const auto take_one = [&]<class Message>(Message& one) {
      one = get<Message>();
      return true;
    };
    return ((kind == I && take_one(message.template emplace<I>())) || ...);
  }

  alignas(std::uint64_t) std::array<std::byte, size> bytes_{};
};

}  // namespace shoal
