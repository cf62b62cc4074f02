#include "collective/cost_terms.h"

#include <algorithm>
#include <cmath>

namespace shoal {

CostTerms::CostTerms(const CostModel& c, GroupShape s, Bytes bytes)
    : costs(c),
      shape(s),
      size(bytes),
      P(static_cast<double>(s.members)),
      H(static_cast<double>(s.hosts)),
      k(std::ceil(P / H)),
      m(static_cast<double>(bytes.value())),
      in(c.inside),
      out(c.between),
      far(s.hosts > 1),
      link(far ? c.between : c.inside),
      gamma(c.gamma) {}

double rounds_among(std::uint64_t n) { return std::ceil(std::log2(static_cast<double>(n))); }

PowerOfTwoRounds::PowerOfTwoRounds(const CostTerms& t)
    : Q(std::exp2(std::floor(std::log2(t.P)))),
      abroad(t.far ? std::min(rounds_among(t.shape.hosts), std::log2(Q)) : 0),
      at_home(std::log2(Q) - abroad) {}

double fold_seconds(const CostTerms& t, const PowerOfTwoRounds& r) {
  if (r.Q == t.P) return 0;
  return t.given(t.m) + t.m * t.gamma + t.link.alpha + t.m * t.link.beta;
}

}  // namespace shoal
