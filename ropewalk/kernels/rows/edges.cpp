#include "ropewalk/kernels/rows/edges.h"

namespace ropewalk {

Edges strongest_edges(const Edges& some, const Edges& others) {
  const at::Tensor numbers = at::cat({some.numbers, others.numbers}, 1);
  const at::Tensor tokens = at::cat({some.tokens, others.tokens}, 1);
  at::Tensor order;  // [heads, n]
  // From the last thing that decides to the first: each leaves the order of what it finds equal.
  for (const int64_t by : {EdgeNumber::key, EdgeNumber::t, EdgeNumber::document, EdgeNumber::p}) {
    const at::Tensor values = numbers.select(2, by);
    const at::Tensor sorted = order.defined() ? values.gather(1, order) : values;
    const at::Tensor next =
        std::get<1>(at::sort(sorted, /*stable=*/true, 1, /*descending=*/by == EdgeNumber::p));
    order = order.defined() ? order.gather(1, next) : next;
  }
  const at::Tensor first = order.narrow(1, 0, kEdges).unsqueeze(2);
  return {numbers.gather(1, first.expand({-1, -1, numbers.size(2)})),
          tokens.gather(1, first.expand({-1, -1, tokens.size(2)}))};
}

}  // namespace ropewalk
