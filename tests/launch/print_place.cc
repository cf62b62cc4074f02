// Prints its Place as one line of JSON; with --secret also the job's token, which only a test may
// do.
#include <fmt/core.h>

#include <cstdio>
#include <string_view>

#include "base/error.h"
#include "launch/place.h"
#include "launch/token.h"

int main(int argc, char** argv) {
  try {
    const shoal::Lookup lookup = shoal::environment_of_this_process();
    const shoal::Place place = shoal::place_from_environment(lookup);
    std::string line = shoal::to_json(place);
    if (argc > 1 && std::string_view(argv[1]) == "--secret") {
      const shoal::Secret secret = shoal::find_secret(lookup, place);
      line += " " + secret.token;
      fmt::print("{}\n", line);
      std::fflush(stdout);
      // Rank 0 keeps the shared file until all have read it: its stdin ends then.
      while (secret.shared && place.rank == 0 && std::getchar() != EOF) continue;
      return 0;
    }
    fmt::print("{}\n", line);
    return 0;
  } catch (const shoal::ConfigError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
