#include "ropewalk/moments/document_values.h"

#include <algorithm>
#include <map>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/checkpoint/safetensors.h"

namespace ropewalk {
namespace {

std::span<double> span_of(const at::Tensor& numbers) {
  return {numbers.mutable_data_ptr<double>(), static_cast<size_t>(numbers.numel())};
}

}  // namespace

void join_values(std::vector<DocumentValues>& whole, const std::vector<DocumentValues>& part,
                 const std::vector<int64_t>& order) {
  const at::Tensor rows = at::tensor(order, at::kLong);
  std::erase_if(whole, [&](DocumentValues& one) {
    const auto found = std::find_if(part.begin(), part.end(), [&](const DocumentValues& other) {
      return other.name == one.name;
    });
    if (found == part.end()) return true;
    if (one.values.sizes().slice(1) != found->values.sizes().slice(1)) {
      throw InputError(
          "tensors 'document.{}' cannot be joined: found {} and {} numbers per document", one.name,
          format_shape(one.values.sizes().vec()), format_shape(found->values.sizes().vec()));
    }
    one.values = at::cat({one.values, found->values}).index_select(0, rows);
    return false;
  });
}

void gather_values(std::vector<DocumentValues>& values, std::span<const int64_t> own,
                   std::span<const int64_t> all, const Communicator& processes) {
  if (processes.alone()) return;
  if (!processes.first()) {
    std::vector<double> head{static_cast<double>(own.size())};
    processes.send(0, head);
    if (own.empty()) return;
    processes.send(0, std::vector<double>(own.begin(), own.end()));
    for (const DocumentValues& one : values) processes.send(0, span_of(one.values.contiguous()));
    return;
  }
  std::map<int64_t, int64_t> row_of;  // row, by document index
  for (size_t i = 0; i < all.size(); ++i) row_of[all[i]] = static_cast<int64_t>(i);
  std::vector<at::Tensor> joined;
  for (const DocumentValues& one : values) {
    std::vector<int64_t> shape = one.values.sizes().vec();
    shape[0] = static_cast<int64_t>(all.size());
    joined.push_back(at::zeros(shape, at::kDouble));
  }
  const auto put_rows = [&](std::span<const int64_t> documents, size_t which,
                            const at::Tensor& rows) {
    for (size_t i = 0; i < documents.size(); ++i) {
      joined[which][row_of.at(documents[i])].copy_(rows[static_cast<int64_t>(i)]);
    }
  };
  for (size_t which = 0; which < values.size(); ++which) put_rows(own, which, values[which].values);
  for (int from = 1; from < processes.count(); ++from) {
    double count = 0;
    processes.receive(from, {&count, 1});
    if (count == 0) continue;
    std::vector<double> numbers(static_cast<size_t>(count));
    processes.receive(from, numbers);
    const std::vector<int64_t> theirs(numbers.begin(), numbers.end());
    for (size_t which = 0; which < values.size(); ++which) {
      std::vector<int64_t> shape = values[which].values.sizes().vec();
      shape[0] = static_cast<int64_t>(theirs.size());
      const at::Tensor rows = at::empty(shape, at::kDouble);
      processes.receive(from, span_of(rows));
      put_rows(theirs, which, rows);
    }
  }
  for (size_t which = 0; which < values.size(); ++which) values[which].values = joined[which];
}

}  // namespace ropewalk
