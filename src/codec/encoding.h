// Encoding: which codec, with what settings, and whether the rest is kept. A plain value.
//
//   text form              what is sent of an element; defaults in brackets
//   fp32                   all of it
//   fp16, bf16             its upper half
//   fixed16:4              16 bits, of which 4 stand before the point, the sign included
//   flexpoint              16 bits, with one exponent for the piece
//   onebit                 its sign
//   twobit:0.5             -0.5, 0 or 0.5                                         [0.5]
//   terngrad               -s, 0 or s by chance, s the largest of the piece
//   qsgd:4, qsgd:4:elias   one of 4 levels by chance, of the norm of 512          [4]
//   dorefa:4               one of 2^4 levels by chance, of the largest            [4]
//   strom:0.001            the sign of those that reach the threshold             [0.001]
//   dryden:0.01            the sign of the largest part of either sign            [0.01]
//   adacomp:500            the sign of those that would soon be the largest of 500 [500]
//   topk:0.01              the largest part, exactly                              [0.01]
//   randomk:0.01           a random part, exactly                                 [0.01]
//   randomk:0.01:50        the same part for 50 steps
//   dgc:0.001              the largest part of what momentum has gathered         [0.001]
//   powersgd:2             factors of rank 2 of its matrix                        [2]
//   sfb                    of fully connected layers the factors that their gradients are made of
//   poseidon               these where they are less to send
//   auto                   what pays on the link
//
// Behind any: +ef, the rest is added to the next gradient (error feedback); +zstd, the bytes are
// compressed once more. twobit, strom, dryden, adacomp and powersgd always keep the rest, as their
// papers have it: there +ef is understood. Settings that a kind has not are 0.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "codec/codec.h"

namespace shoal {

enum class Width : std::uint8_t;  // base/wide.h

struct Encoding {
  enum class Kind : std::uint8_t {
    Fp32,
    Fp16,
    Bf16,
    Fixed16,
    Flexpoint,
    Onebit,
    Twobit,
    Terngrad,
    Qsgd,
    Dorefa,
    Strom,
    Dryden,
    Adacomp,
    Topk,
    Randomk,
    Dgc,
    Powersgd,
    Sfb,
    Poseidon,
    Auto
  };

  Kind kind = Kind::Fp32;
  double ratio = 0;          // dryden, topk, randomk, dgc: the part that is sent
  double theta = 0;          // twobit, strom: the threshold
  std::uint32_t levels = 0;  // qsgd
  std::uint32_t bits = 0;    // dorefa: of an element; fixed16: before the point
  std::uint32_t bin = 0;     // adacomp: elements of which one is always sent
  std::uint32_t rank = 0;    // powersgd
  std::uint32_t hold = 0;    // randomk: steps that have the same places; 0: as 1
  bool elias = false;        // qsgd: codes of Elias instead of a fixed number of bits
  bool feedback = false;     // the rest is added to the next gradient
  bool zstd = false;

  bool operator==(const Encoding&) const = default;
};

inline constexpr std::size_t kEncodings = 20;
std::string_view to_string(Encoding::Kind kind);

// ConfigError, with the text and what is allowed, for anything else than the forms above.
Encoding parse_encoding(std::string_view text);
// The text form, with all settings.
std::string to_string(const Encoding& encoding);

// Kinds of which make_codec makes something: all but powersgd (codec/powersgd.h), which exchanges
// two factors, one after the other, sfb and poseidon, whose factors the learner makes, and auto.
bool has_codec(const Encoding& encoding);
// Of dgc it is the choice and the form of what is sent; u and v are codec/dgc.h.
// REQUIRES: has_codec; parse_encoding would take it; width is at most widest().
std::unique_ptr<Codec> make_codec(const Encoding& encoding, Width width);
std::unique_ptr<Codec> make_codec(const Encoding& encoding);  // with the widest

}  // namespace shoal
