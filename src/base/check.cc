#include "base/check.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace shoal {
namespace {

// The one mutable global of the tree, like std::set_terminate's: a failing check has no context.
struct Hooks {
  std::mutex mutex;
  std::vector<std::function<void()>*> list;
};
Hooks& hooks() {
  static Hooks instance;
  return instance;
}

}  // namespace

CrashHook::CrashHook(std::function<void()> hook) : hook_(std::move(hook)) {
  const std::lock_guard lock(hooks().mutex);
  hooks().list.push_back(&hook_);
}

CrashHook::~CrashHook() {
  const std::lock_guard lock(hooks().mutex);
  std::erase(hooks().list, &hook_);
}

namespace detail {

void check_failed(const char* file, int line, const char* expression, std::string_view values,
                  std::string_view message) {
  fmt::print(stderr, "{}:{}: check failed: {}{}{}{}{}\n", file, line, expression,
             values.empty() ? "" : ": ", values, message.empty() ? "" : ": ", message);
  std::fflush(stderr);
  std::vector<std::function<void()>*> list;
  {
    const std::lock_guard lock(hooks().mutex);
    list.swap(hooks().list);  // A hook that fails a check itself must not run again.
  }
  for (auto hook = list.rbegin(); hook != list.rend(); ++hook) (**hook)();
  std::abort();
}

}  // namespace detail
}  // namespace shoal
