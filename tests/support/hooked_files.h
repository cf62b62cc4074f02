// Files with a hook before each call, which can die there, skip the call, or let others go first.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "runtime/files.h"

namespace shoal {

class HookedFiles final : public Files {
 public:
  // Gets the name of the call and its (first) path. Returns whether to make the call; may throw.
  using Hook = std::function<bool(std::string_view call, const std::string& path)>;

  HookedFiles(Files& inner, Hook hook) : inner_(inner), hook_(std::move(hook)) {}
  // Waits for a random number of executor turns, at most `turns`, before each call.
  void dawdle(Random& random, std::uint64_t turns) {
    random_ = &random;
    turns_ = turns;
  }

  Task<void> write(std::string path, ConstBuf content) override {
    const bool go = co_await before("write", path);
    if (go) co_await inner_.write(std::move(path), content);
  }
  Task<void> append(std::string path, ConstBuf content) override {
    const bool go = co_await before("append", path);
    if (go) co_await inner_.append(std::move(path), content);
  }
  Task<void> append_lines(std::string path, ConstBuf lines) override {
    const bool go = co_await before("append", path);
    if (go) co_await inner_.append_lines(std::move(path), lines);
  }
  Task<std::vector<std::byte>> read(std::string path) override {
    co_await before("read", path);
    co_return co_await inner_.read(std::move(path));
  }
  Task<void> sync(std::string path) override {
    const bool go = co_await before("sync", path);
    if (go) co_await inner_.sync(std::move(path));
  }
  Task<void> rename(std::string from, std::string to) override {
    const bool go = co_await before("rename", from);
    if (go) co_await inner_.rename(std::move(from), std::move(to));
  }
  Task<void> remove(std::string path) override {
    const bool go = co_await before("remove", path);
    if (go) co_await inner_.remove(std::move(path));
  }
  Task<std::vector<std::string>> list(std::string folder) override {
    co_await before("list", folder);
    co_return co_await inner_.list(std::move(folder));
  }

 private:
  static Task<void> one_turn() { co_return; }
  Task<bool> before(std::string_view call, const std::string& path) {
    const std::uint64_t turns = random_ == nullptr ? 0 : random_->below(turns_ + 1);
    for (std::uint64_t i = 0; i < turns; ++i) co_await one_turn();
    co_return hook_(call, path);
  }

  Files& inner_;
  Hook hook_;
  Random* random_ = nullptr;
  std::uint64_t turns_ = 0;
};

}  // namespace shoal
