#include "ropewalk/kernels/moments/orders.h"

#include "ropewalk/kernels/clones.h"

namespace ropewalk {

ROPEWALK_CLONES
void count_orders(const float* a, const float* b, int64_t steps, int64_t lanes, int32_t* above,
                  int32_t* below) {
  using Numbers = float __attribute__((vector_size(kOrderLanes * sizeof(float))));
  using Counts = int32_t __attribute__((vector_size(kOrderLanes * sizeof(int32_t))));
  for (int64_t lane = 0; lane < lanes; lane += kOrderLanes) {
    Counts more{}, less{};
    for (int64_t step = 0; step < steps; ++step) {
      Numbers x, y;
      __builtin_memcpy(&x, a + step * lanes + lane, sizeof(x));
      __builtin_memcpy(&y, b + step * lanes + lane, sizeof(y));
      more -= x > y;  // true is -1
      less -= x < y;
    }
    __builtin_memcpy(above + lane, &more, sizeof(more));
    __builtin_memcpy(below + lane, &less, sizeof(less));
  }
}

}  // namespace ropewalk
