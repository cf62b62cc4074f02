#include "app/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <type_traits>

#include "app/build_info.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"

namespace shoal {
namespace {

// A mistake of the user; the message is complete.
class UsageError : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

// CLI11 would turn -1 into an unsigned number and clip one that is too large; here both are
// refused.
template <class Number>
void set_number(const std::string& name, const std::string& text, Number& number) {
  const auto parsed = parse_number<Number>(text);
  if (!parsed) {
    constexpr NumberRange<Number> kRange;
    const std::string expected =
        std::is_integral_v<Number>
            ? fmt::format("a whole number from {} to {}", kRange.least, kRange.most)
            : "a finite number";
    throw CLI::ValidationError(name, fmt::format("'{}' is not {}", text, expected));
  }
  number = *parsed;
}

CLI::Option* add_to(CLI::App& app, const Option& option, bool* target) {
  return app.add_flag(option.name, *target, option.help);
}
template <class Text>
requires std::is_same_v<Text, std::string> || std::is_same_v<Text, std::vector<std::string>>
    CLI::Option* add_to(CLI::App& app, const Option& option, Text* target) {
  return app.add_option(option.name, *target, option.help)->capture_default_str();
}
template <class Number>
requires std::is_arithmetic_v<Number> CLI::Option* add_to(CLI::App& app, const Option& option,
                                                          Number* target) {
  const auto parse = [&option, target](const std::string& text) {
    set_number(option.name, text, *target);
  };
  return app.add_option_function<std::string>(option.name, parse, option.help)
      ->type_name(std::is_integral_v<Number> ? "INTEGER" : "NUMBER")
      ->default_str(fmt::format("{}", *target));
}

void add_option(CLI::App& app, const Option& option) {
  auto* added =
      std::visit([&](auto* target) { return add_to(app, option, target); }, option.target);
  added->required(option.required);
  if (option.choices.empty()) return;
  added->check([&option](const std::string& value) -> std::string {
    if (std::ranges::find(option.choices, value) != option.choices.end()) return {};
    return fmt::format("'{}' is not known. {}", value, suggest(value, option.choices));
  });
}

void add_commands(CLI::App& app, const std::vector<Command>& commands) {
  for (const auto& command : commands) {
    auto* sub = app.add_subcommand(command.name, command.summary);
    // Extra arguments are collected, not refused: CLI11's own message cannot name the nearest
    // known.
    sub->allow_extras();
    for (const auto& option : command.options) add_option(*sub, option);
    add_commands(*sub, command.subcommands);
  }
}

// The deepest command that the command line reached.
struct Reached {
  const CLI::App* app;
  const Command* command;
  std::string name;  // and those of the commands on the way
};

Reached reach(const CLI::App& app, const Command& program) {
  Reached at{.app = &app, .command = &program, .name = program.name};
  for (auto subs = at.app->get_subcommands(); !subs.empty(); subs = at.app->get_subcommands()) {
    at.app = subs.front();
    at.command = &*std::ranges::find(at.command->subcommands, at.app->get_name(), &Command::name);
    at.name += " " + at.command->name;
  }
  return at;
}

std::vector<std::string> known_options(const Reached& at) {
  std::vector<std::string> names{"--help"};
  if (at.app->get_parent() == nullptr) names.emplace_back("--version");
  for (const auto& option : at.command->options)
    if (last_name(option).starts_with("--")) names.push_back(last_name(option));
  return names;
}

void refuse_unknown(const Reached& at) {
  const auto extras = at.app->remaining();
  if (extras.empty()) return;
  // An option is reported first: the words behind it were most likely its values.
  const auto option =
      std::ranges::find_if(extras, [](const std::string& e) { return e.starts_with("-"); });
  if (option != extras.end()) {
    const auto name = option->substr(0, option->find('='));
    throw UsageError(fmt::format("{}: unknown option '{}'. {}", at.name, name,
                                 suggest(name, known_options(at))));
  }
  if (at.command->subcommands.empty())
    throw UsageError(fmt::format("{}: unexpected argument '{}'", at.name, extras.front()));
  std::vector<std::string> names;
  for (const auto& command : at.command->subcommands) names.push_back(command.name);
  throw UsageError(fmt::format("{}: unknown command '{}'. {}", at.name, extras.front(),
                               suggest(extras.front(), names)));
}

// Parses, and returns the command to run; null when help or the version was asked for and printed.
const Command* parse(const Command& program, int argc, const char* const* argv) {
  CLI::App app{program.summary, program.name};
  app.set_version_flag("--version", describe(build_info()));
  app.allow_extras();
  for (const auto& option : program.options) add_option(app, option);
  add_commands(app, program.subcommands);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    app.exit(help_or_version);
    return nullptr;
  } catch (const CLI::ParseError& error) {
    const auto at = reach(app, program);
    refuse_unknown(
        at);  // A misspelt option explains "X is required" better than that message does.
    throw UsageError(fmt::format("{}: {}", at.name, error.what()));
  }

  const auto at = reach(app, program);
  refuse_unknown(at);
  if (!at.command->run)
    throw UsageError(fmt::format("{}: which command?\n\n{}", at.name, at.app->help()));
  if (at.command->given != nullptr)
    for (const auto& option : at.command->options)
      if (at.app->get_option(last_name(option))->count() > 0)
        at.command->given->push_back(last_name(option));
  return at.command;
}

}  // namespace

void parse_options(const Command& program, const std::vector<std::string>& words) {
  std::vector<const char*> argv{program.name.c_str()};
  for (const std::string& word : words) argv.push_back(word.c_str());
  parse(program, static_cast<int>(argv.size()), argv.data());
}

ExitCode run_command_line(const Command& program, int argc, const char* const* argv) {
  try {
    const auto* command = parse(program, argc, argv);
    return command == nullptr ? ExitCode::kOk : command->run();
  } catch (const UsageError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return ExitCode::kUsage;
  } catch (const ConfigError& error) {
    fmt::print(stderr, "{}: {}\n", program.name, error.what());
    return ExitCode::kUsage;
  } catch (const DataError& error) {
    fmt::print(stderr, "{}: {}\n", program.name, error.what());
    return ExitCode::kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: unexpected failure: {}\n", program.name, error.what());
    return ExitCode::kCrash;
  }
}

ExitCode run_command_line(const std::vector<Command>& commands, int argc, const char* const* argv) {
  Command program;
  program.name = "shoal";
  program.summary = "Trains one neural network on many machines, in step or out of it.";
  program.subcommands = commands;
  return run_command_line(program, argc, argv);
}

}  // namespace shoal
