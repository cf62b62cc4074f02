#include "base/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/names.h"

namespace shoal {
namespace {

using testing::HasSubstr;

struct Plain {
  static constexpr std::string_view kName = "plain";
  bool operator==(const Plain&) const = default;
};

struct Largest {
  static constexpr std::string_view kName = "largest";
  double ratio = 0.01;
  std::uint32_t hold = 1;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"ratio", &Largest::ratio, "part of the elements", {1e-6, 1}},
                      Parameter{"hold", &Largest::hold, "steps", {.least = 1}, Print::IfSet}};
  }
  bool operator==(const Largest&) const = default;
};

struct Levels {
  static constexpr std::string_view kName = "levels";
  std::uint64_t levels = 4;
  bool elias = false;
  double rate = kAuto;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"levels", &Levels::levels, "levels", {1, 256}},
                      Parameter{"elias", &Levels::elias, "Elias codes"},
                      Parameter{"rate", &Levels::rate, "rate", {.or_auto = true}, Print::IfSet}};
  }
  bool operator==(const Levels&) const = default;
};

struct Every {
  static constexpr std::string_view kName = "";
  std::uint32_t steps = 1;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"steps", &Every::steps, "steps", {.least = 1}}};
  }
  bool operator==(const Every&) const = default;
};

using Form = std::variant<Plain, Largest, Levels, Every>;

Form parse(std::string_view text) { return parse_choice<Form>("--form", text); }

std::string message_of(std::string_view text) {
  try {
    parse(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Choice, EveryTextFormComesBack) {
  for (const char* text : {"plain", "largest:0.25", "largest:0.25:50", "levels:16",
                           "levels:16:elias", "levels:16:elias:0.5", "levels:16:0.5", "7"})
    EXPECT_EQ(choice_text(parse(text)), text);
}

TEST(Choice, ParametersThatAreLeftOutHaveTheirDefaults) {
  EXPECT_EQ(parse("largest"), Form(Largest{}));
  EXPECT_EQ(parse("levels:8"), Form(Levels{.levels = 8}));
  EXPECT_EQ(choice_text(parse("largest")), "largest:0.01");
  EXPECT_EQ(choice_text(parse("levels:8:auto")), "levels:8");
}

TEST(Choice, ErrorsNameTheFlagTheTextAndTheRange) {
  EXPECT_THAT(message_of("largest:2"), HasSubstr("--form largest:2: ratio (part of the elements)"));
  EXPECT_THAT(message_of("largest:2"), HasSubstr("a number from 1e-06 to 1, not '2'"));
  EXPECT_THAT(message_of("largest:0.1:0"), HasSubstr("a whole number from 1 on, not '0'"));
  EXPECT_THAT(message_of("largest:0.1:x"), HasSubstr("not 'x'"));
  EXPECT_THAT(message_of("largest:"), HasSubstr("not ''"));
  EXPECT_THAT(message_of("plain:3"), HasSubstr("plain takes no '3'"));
  EXPECT_THAT(message_of("levels:8:elias:0.5:1"), HasSubstr("'1' is one setting too many"));
  EXPECT_THAT(message_of("levels:1e3"), HasSubstr("from 1 to 256, not '1e3'"));
}

struct Needs {
  static constexpr std::string_view kName = "needs";
  std::uint64_t steps = 3;
  double rate = kAuto;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"steps", &Needs::steps, "steps", {}, Print::Required},
                      Parameter{"rate", &Needs::rate, "rate", {.or_auto = true}, Print::IfSet}};
  }
  bool operator==(const Needs&) const = default;
};

TEST(Choice, ARequiredParameterCannotBeLeftOut) {
  using Some = std::variant<Plain, Needs>;
  const auto refused = [](std::string_view text) {
    try {
      parse_choice<Some>("--some", text);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused("needs"),
            "--some needs: expected needs:STEPS[:RATE]; STEPS is a whole number from 0 on (steps)");
  EXPECT_THAT(refused("needs:"), HasSubstr("expected a whole number from 0 on, not ''"));
  EXPECT_EQ(choice_text(parse_choice<Some>("--some", "needs:3")), "needs:3");
  EXPECT_EQ(values_of<Some>(), (std::vector<std::string>{"plain", "needs:3"}));
  EXPECT_EQ(patterns_of<Some>(), (std::vector<std::string>{"plain", "needs:STEPS[:RATE]"}));
}

TEST(Choice, WhatFitsNoUnnamedAlternativeIsAnsweredWithTheNamesToo) {
  EXPECT_EQ(message_of("x"),
            "--form x: steps (steps): expected a whole number from 1 on, not 'x'; or take plain, "
            "largest or levels");
  EXPECT_THAT(message_of(""), HasSubstr("from 1 on, not ''"));
}

enum class Shade : std::uint8_t { Dark, Light };
constexpr auto kShadeNames = names<Shade>({{Shade::Dark, "dark"}, {Shade::Light, "light"}});
constexpr const auto& enum_names(Shade) { return kShadeNames; }

struct Options {
  Form form{};
  Shade shade = Shade::Light;
  bool fast = false;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"form", &Options::form, "form"},
                      Parameter{"shade", &Options::shade, "shade"},
                      Parameter{"fast", &Options::fast, "fast"}};
  }
  bool operator==(const Options&) const = default;
};

TEST(Choice, AParameterMayBeAChoiceOrAnEnum) {
  Options options;
  const std::vector<Setting> settings = settings_of(options);
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].range,
            "plain, largest[:RATIO][:HOLD], levels[:LEVELS][:elias][:RATE] or STEPS");
  EXPECT_EQ(settings[0].choices,
            (std::vector<std::string>{"plain", "largest:0.01", "levels:4", "1"}));
  EXPECT_EQ(settings[1].choices, (std::vector<std::string>{"dark", "light"}));
  EXPECT_EQ(settings[2].choices, (std::vector<std::string>{"yes", "no"}));
  settings[0].set("largest:0.5");
  settings[1].set("dark");
  EXPECT_EQ(options, (Options{.form = Largest{.ratio = 0.5}, .shade = Shade::Dark}));
  EXPECT_EQ(settings[0].text(), "largest:0.5");
  EXPECT_EQ(settings[1].text(), "dark");
  EXPECT_THROW(settings[0].set("largest:7"), ConfigError);
  EXPECT_THROW(settings[1].set("drak"), ConfigError);
  EXPECT_EQ(options.shade, Shade::Dark);
}

struct Apart {
  std::variant<Plain, Largest> form{};
  bool fast = false;
  static constexpr auto parameters() {
    return std::tuple{Rows<Apart>{[](Apart& a) { return choice_settings("form", a.form, "form"); }},
                      Parameter{"fast", &Apart::fast, "fast"}};
  }
  bool operator==(const Apart&) const = default;
};

std::vector<std::string> names_of_settings(Apart& options) {
  std::vector<std::string> names;
  for (const Setting& setting : settings_of(options)) names.emplace_back(setting.name);
  return names;
}

TEST(Choice, TheParametersOfAnAlternativeMayBeSettingsBesideIt) {
  Apart options;
  EXPECT_EQ(names_of_settings(options), (std::vector<std::string>{"form", "fast"}));
  const Setting form = settings_of(options)[0];
  EXPECT_TRUE(form.decides);
  EXPECT_EQ(form.choices, (std::vector<std::string>{"plain", "largest"}));
  form.set("largest");
  EXPECT_EQ(form.text(), "largest");
  EXPECT_EQ(names_of_settings(options),
            (std::vector<std::string>{"form", "ratio", "hold", "fast"}));
  settings_of(options)[1].set("0.5");
  EXPECT_EQ(std::get<Largest>(options.form), Largest{.ratio = 0.5});
  EXPECT_THROW(form.set("levels"), ConfigError);
}

TEST(Choice, AnUnknownNameIsAnsweredWithTheNearest) {
  using Named = std::variant<Plain, Largest>;
  try {
    parse_choice<Named>("--form", "largets:0.1");
    FAIL() << "it was taken";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--form largets:0.1: this is not known"));
    EXPECT_THAT(error.what(), HasSubstr("Did you mean 'largest'?"));
  }
}

TEST(Choice, SettingsReadAndWriteTheValue) {
  Form form = Levels{};
  std::vector<Setting> settings = settings_of(form);
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].name, "levels");
  EXPECT_TRUE(settings[1].is_switch);
  settings[1].set("yes");
  settings[2].set("0.5");
  EXPECT_EQ(std::get<Levels>(form), (Levels{.elias = true, .rate = 0.5}));
  EXPECT_EQ(settings[2].text(), "0.5");
  EXPECT_EQ(settings[2].range, "a number from 0 on, or auto");
  EXPECT_THROW(settings[2].set("-1"), ConfigError);
}

}  // namespace
}  // namespace shoal
