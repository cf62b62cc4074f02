// The worlds in which the conformance suite runs. To add one, derive from WorldUnderTest in
// worlds.cc (one process) or wire_worlds.cc (between processes) and name it in worlds() there. The
// rest of the suite does not depend on the world.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"
#include "runtime/node.h"

namespace shoal {

class WorldUnderTest {
 public:
  virtual ~WorldUnderTest() = default;
  // Runs until all nodes have ended; all are in the first view. Every wait has a time limit. A
  // failing node fails the test. May be called repeatedly.
  virtual void run(std::size_t nodes, NodeProgram program) = 0;
  virtual void kill(NodeId node) = 0;  // from a program
};

struct WorldKind {
  std::string name;
  std::unique_ptr<WorldUnderTest> (*make)();
};
inline void PrintTo(const WorldKind& kind, std::ostream* out) { *out << kind.name; }
std::vector<WorldKind> worlds();

template <class W>
WorldKind kind(std::string name) {
  return {std::move(name),
          []() -> std::unique_ptr<WorldUnderTest> { return std::make_unique<W>(); }};
}

// The fixture of every file of the suite.
class InWorld : public testing::TestWithParam<WorldKind> {
 protected:
  const std::unique_ptr<WorldUnderTest> world = GetParam().make();
};

inline std::string world_name(const testing::TestParamInfo<WorldKind>& kind) {
  return kind.param.name;
}

}  // namespace shoal
