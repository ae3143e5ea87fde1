#pragma once

namespace ropewalk {

// Distribution function of Student's t with `df` > 0 degrees of freedom.
double student_t_cdf(double t, double df);

// The value that |t| exceeds with probability 0.05: half the width of a 95 % interval, in standard
// errors. Infinite for df < 1.
double student_t_95(double df);

}  // namespace ropewalk
