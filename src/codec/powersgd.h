// powersgd: a gradient matrix M as P Q^T of low rank, by one step of power iteration. Vogels,
// Karimireddy, Jaggi, "PowerSGD: practical low-rank gradient compression for distributed
// optimization", NeurIPS 2019, arXiv:1905.13727.
//
// Both factors are linear in M, so all-reduce adds them up. The caller keeps Q from step to step,
// and the residual. A step, with M the gradient and the residual of before:
//
//   powersgd_project(shape, M, Q, P);        P = M Q          all-reduce P, take the mean
//   powersgd_orthogonalize(shape, P);
//   powersgd_back(shape, M, P, Q);           Q = M^T P        all-reduce Q, take the mean
//   powersgd_add(shape, P, Q, 1, gradient);  the mean gradient, about
//   powersgd_add(shape, P, Q, -1, M);        what is left is the residual
//
// Sent are r (m + n) values instead of m n. At full rank P Q^T is M. Matrices lie row by row;
// factors column by column, so that each of their r vectors is contiguous.
// Cost: each of the steps passes over M once. Sums have the same order for every width.
// Deviation: a column of P that depends on those before it (M has a lower rank, or is zero) becomes
// a unit vector orthogonal to them, so that Q finds directions again later; the paper leaves it.
#pragma once

#include "codec/traits.h"

namespace shoal {

// Nothing that codecs do: sums of factors (encoded/low_rank.h).
struct Powersgd {
  static constexpr std::string_view kName = "powersgd";
  static constexpr std::string_view kHelp = "low-rank factors of its matrix";
  static constexpr EncodingExamples kExamples = {.usual = "powersgd:2",
                                                 .swarm = {.text = "powersgd:1", .sums = 6}};
  std::uint32_t rank = 2;

  static constexpr auto parameters() {
    return std::tuple{Parameter{"rank", &Powersgd::rank, "the rank of the factors", {1, 1024}}};
  }
  constexpr EncodingTraits traits() const {
    return {.needs_residual = true,
            .no_zstd = "factors are summed uncompressed; omit +zstd",
            .rank = rank};
  }
  bool operator==(const Powersgd&) const = default;
};

}  // namespace shoal
