// Encoding: a method with its settings, and whether the residual is kept, as a plain value. Text
// forms:
//
//   topk:0.01          a method of the list (codec/encodings.h), its parameters after colons
//   topk:0.01+ef       error feedback: the residual is added to the next gradient
//   topk:0.01+ef+zstd  the bytes are compressed once more
//
// Omitted parameters have their defaults. Methods that need the residual always keep it, as their
// papers do: they imply +ef. `shoal systems --markdown` prints all methods.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/codec.h"
#include "codec/encodings.h"

namespace shoal {

struct Encoding {
  EncodingMethod method = Fp32{};
  bool feedback = false;  // the residual is added to the next gradient
  bool zstd = false;

  bool operator==(const Encoding&) const = default;
};

// For any other text, throws ConfigError with the text and the allowed forms.
Encoding parse_encoding(std::string_view text);
// The text form, with all settings.
std::string to_string(const Encoding& encoding);

EncodingTraits traits(const Encoding& encoding);
EncodingExamples examples(const Encoding& encoding);

// Methods for which make_codec returns a codec: all that have make().
bool has_codec(const Encoding& encoding);
// REQUIRES: has_codec; parse_encoding would take it; width is at most widest().
std::unique_ptr<Codec> make_codec(const Encoding& encoding, Width width);
std::unique_ptr<Codec> make_codec(const Encoding& encoding);  // with the widest

// The encoding in an epoch, counted from 0: some begin with other settings.
Encoding at_epoch(const Encoding& encoding, double epoch);

// ---- The list, for tables, benchmarks and draws

struct EncodingRow {
  std::string form;  // "qsgd:LEVELS[:elias]"
  std::string_view help;
  // "RATIO: the fraction of elements that is sent, a number from 1e-06 to 1"
  std::vector<std::string> parameters;
  EncodingTraits traits;  // of its defaults
  EncodingExamples examples;
};
// In the order of the list.
const std::vector<EncodingRow>& encoding_rows();
// The nonempty texts that `text` selects from the examples of each encoding.
template <class F>
std::vector<std::string> encoding_texts(F text) {
  std::vector<std::string> texts;
  for (const EncodingRow& row : encoding_rows())
    if (const std::string_view one = text(row.examples); !one.empty()) texts.emplace_back(one);
  return texts;
}

// Those that a workload of the swarm draws, by turns: swarm_encodings(&SwarmExample::sums).
std::vector<std::string> swarm_encodings(std::uint8_t SwarmExample::*turn);

}  // namespace shoal
