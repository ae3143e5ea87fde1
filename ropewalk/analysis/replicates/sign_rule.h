#pragma once

namespace ropewalk {

inline constexpr double kSignSwitch = 0.05;  // below this |r_q|, a component's sign follows r_k

}  // namespace ropewalk
