// Shared by the tests of EtcdStore: a loop that runs tasks to their end.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/live/live_env.h"
#include "runtime/live/loop.h"
#include "runtime/task_group.h"
#include "transport/etcd/etcd_store.h"

namespace shoal {

class EtcdTest : public testing::Test {
 protected:
  // Throws if the task takes a minute, so that a hang becomes a named failure.
  template <class T>
  T run(Task<T> task) {
    std::optional<detail::Result<T>> result;
    const auto body = [](LiveEnv& e, Task<T> t, auto& out) -> Task<void> {
      const std::chrono::minutes limit(1);
      auto ended = co_await timeout(e, limit, std::move(t));
      if (!ended) throw std::runtime_error("the task did not end within a minute");
      if constexpr (std::is_void_v<T>) {
        out.emplace();
      } else {
        out.emplace(std::move(*ended));
      }
    };
    run_task(loop, body(env, std::move(task), result));
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }

  static EtcdOptions at(std::string endpoints, std::string job = "test") {
    return {.endpoints = std::move(endpoints), .prefix = "shoal/" + std::move(job) + "/"};
  }

  LiveLoop loop;
  LiveEnv env{loop, {}};
};

}  // namespace shoal
