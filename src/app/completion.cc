#include "app/completion.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace shoal {
namespace {

// Every command with those above it: "bench sim".
struct Path {
  std::string words;
  const Command* command;
};

void add_paths(const Command& command, const std::string& words, std::vector<Path>& paths) {
  paths.push_back({words, &command});
  for (const Command& sub : command.subcommands)
    add_paths(sub, words.empty() ? sub.name : words + " " + sub.name, paths);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

bool positional(const Option& option) { return !option.name.starts_with("-"); }

// All names of an option: "-n,--ranks".
std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= option.name.size();) {
    const std::size_t end = std::min(option.name.find(',', at), option.name.size());
    names.push_back(option.name.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

// The words that may occur anywhere in that command.
std::string words_of(const Path& path) {
  std::vector<std::string> words;
  for (const Command& sub : path.command->subcommands) words.push_back(sub.name);
  for (const Option& option : path.command->options)
    for (const std::string& word : positional(option) ? option.choices : names_of(option))
      words.push_back(word);
  words.emplace_back("--help");
  if (path.words.empty()) words.emplace_back("--version");
  return joined(words);
}

// Patterns of "command:option".
std::string patterns(const Path& path, const Option& option) {
  std::string text;
  for (const std::string& name : names_of(option))
    text += fmt::format("{}'{}:{}'", text.empty() ? "" : "|", path.words, name);
  return text;
}

}  // namespace

std::string completion_script(const Command& program, const std::string& names, Shell shell) {
  std::vector<Path> paths;
  add_paths(program, "", paths);
  std::string deeper, values, words;
  for (const Path& path : paths) {
    if (!path.words.empty()) deeper += fmt::format("{}'{}'", deeper.empty() ? "" : "|", path.words);
    words += fmt::format("    '{}') words='{}' ;;\n", path.words, words_of(path));
    for (const Option& option : path.command->options) {
      if (positional(option) || std::holds_alternative<bool*>(option.target)) continue;
      const std::string choices =
          option.choices.empty() ? "-f" : fmt::format("-W '{}'", joined(option.choices));
      values += fmt::format("    {}) COMPREPLY=($(compgen {} -- \"$cur\")); return ;;\n",
                            patterns(path, option), choices);
    }
  }
  std::string script = fmt::format("# Made by `{} completion`.\n", program.name);
  if (shell == Shell::Zsh) script += "autoload -U +X bashcompinit && bashcompinit\n";
  script += fmt::format(
      "_{0}() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local path='' words='' longer i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    longer=\"${{path:+$path }}${{COMP_WORDS[i]}}\"\n"
      "    case \"$longer\" in {1}) path=$longer ;; esac\n"
      "  done\n"
      "  case \"$path:$prev\" in\n{2}  esac\n"
      "  case \"$path\" in\n{3}  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "}}\n"
      "complete -o bashdefault -o default -F _{0} {4}\n",
      program.name, deeper, values, words, names);
  return script;
}

}  // namespace shoal
