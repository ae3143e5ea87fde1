#include "ropewalk/kernels/rows/row_sums_gpu.h"

#include <algorithm>
#include <cstring>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/gpu/gpu.h"
#include "ropewalk/kernels/gpu/row_passes.h"
#include "ropewalk/kernels/rows/key_runs.h"

namespace ropewalk {
namespace {

// Numbers of the host that a GPU gets in one copy.
class Upload {
 public:
  template <typename Number>
  size_t add(const std::vector<Number>& numbers) {
    static_assert(sizeof(Number) % sizeof(int32_t) == 0);
    const size_t at = words_.size();
    words_.resize(at + numbers.size() * sizeof(Number) / sizeof(int32_t));
    std::memcpy(words_.data() + at, numbers.data(), numbers.size() * sizeof(Number));
    return at;
  }
  size_t add(const int32_t* numbers, int64_t count) {
    const size_t at = words_.size();
    words_.insert(words_.end(), numbers, numbers + count);
    return at;
  }

  // Starts the copy; the program does not wait.
  void send(const at::Device& device) {
    const auto count = static_cast<int64_t>(words_.size());
    const at::Tensor here = at::empty({count}, at::TensorOptions(at::kInt).pinned_memory(true));
    std::memcpy(here.mutable_data_ptr(), words_.data(), words_.size() * sizeof(int32_t));
    there_ = here.to(device, /*non_blocking=*/true);
  }
  const int32_t* pointer(size_t at) const { return there_.const_data_ptr<int32_t>() + at; }

 private:
  std::vector<int32_t> words_;
  at::Tensor there_;
};

std::vector<int32_t> narrowed(const std::vector<int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

// The first head of each KV head, and the number of all.
std::vector<int32_t> first_heads(const QueryRows& rows) {
  std::vector<int32_t> first;
  for (int64_t kv = 0; kv <= rows.k.size(0); ++kv) {
    first.push_back(static_cast<int32_t>(std::lower_bound(rows.kv.begin(), rows.kv.end(), kv) -
                                         rows.kv.begin()));
  }
  return first;
}

// The first row of each octave, of rows begin … end - 1, numbered from 0. What is beyond the last
// octave counts as of it.
std::vector<int32_t> octave_rows(const QueryRows& rows, int64_t begin, int64_t end,
                                 int64_t octaves) {
  std::vector<int32_t> first{0};
  for (int64_t octave = 1; octave < octaves; ++octave) {
    const auto at =
        std::lower_bound(rows.t.begin() + begin, rows.t.begin() + end, row_octave_begin(octave));
    first.push_back(static_cast<int32_t>(at - rows.t.begin() - begin));
  }
  first.push_back(static_cast<int32_t>(end - begin));
  return first;
}

// Queries times keys in float32: [heads, rows, T].
at::Tensor products(const at::Tensor& q, const QueryRows& rows) {
  const int64_t heads = q.size(0), count = q.size(1), d = q.size(2);
  at::Tensor keys = rows.k;
  if (!reads_keys_evenly(rows.kv, keys.size(0))) {
    keys = keys.index_select(0, at::tensor(rows.kv, at::kLong).to(q.device()));
  }
  const at::Tensor queries = q.view({keys.size(0), -1, d}), columns = keys.transpose(1, 2);
  const at::Tensor made = q.scalar_type() == at::kFloat ? at::bmm(queries, columns)
                                                        : at::bmm(queries, columns, at::kFloat);
  return made.view({heads, count, keys.size(1)});
}

constexpr int64_t kMovedSums = 4;
// The most runs that a row sees: key_moves.h.
constexpr int64_t kMostRuns = 130;

// Rows that are computed together, so that their products take at most 128 MiB.
int64_t rows_together(int64_t heads, int64_t tokens) {
  constexpr int64_t kBytes = int64_t{1} << 27;
  const int64_t one = heads * (tokens * 4 + kMostRuns * kMovedSums * 8);
  return std::max<int64_t>(1, kBytes / one);
}

class GpuRows {
 public:
  GpuRows(const QueryRows& rows, int64_t document, const RowSums& to)
      : rows_(rows), document_(document), to_(to) {
    if (rows.q.size(2) > cuda::kMostRowDimensions) {
      throw SystemError(
          "rows of attention: found {} dimensions, expected at most {} on a GPU; use --device cpu",
          rows.q.size(2), cuda::kMostRowDimensions);
    }
    const auto options = rows.q.options();
    const int64_t links = rows.heads() * rows.rows() * kStrongest;
    strongest_p_ = at::empty({links}, options.dtype(at::kFloat));
    strongest_key_ = at::empty({links}, options.dtype(at::kInt));
    k_ = rows.k.stride(2) == 1 ? rows.k : rows.k.contiguous();
    for (const auto& [given, kept] :
         {std::pair{&rows.scores.slopes, &slopes_}, std::pair{&rows.scores.sinks, &sinks_}}) {
      if (given->defined()) *kept = given->to(at::kFloat).contiguous();
    }
    ids_ = shared_.add(rows.tokens.const_data_ptr<int32_t>(), rows.tokens.size(0));
    t_ = shared_.add(narrowed(rows.t));
    const std::vector<int32_t> first = first_heads(rows);
    for (size_t i = 1; i < first.size(); ++i) {
      most_heads_ = std::max<int64_t>(most_heads_, first[i] - first[i - 1]);
    }
    first_head_ = shared_.add(first);
    shared_.send(rows.q.device());
  }

  void add(int64_t begin, int64_t end) {
    const auto known = rows_.has_places() ? remembered_key_runs(rows_, begin, end, rows_of_task())
                                          : std::make_shared<const KeyRuns>();
    const KeyRuns& keys = *known;
    Upload upload;
    const size_t tasks = upload.add(keys.tasks), first_run = upload.add(keys.first_run),
                 row_runs = upload.add(keys.row_runs), moves = upload.add(keys.moves),
                 octaves = upload.add(octave_rows(rows_, begin, end, to_.sums.size(1)));
    upload.send(rows_.q.device());
    cuda::RowsPass pass = common(begin, end);
    pass.tasks = reinterpret_cast<const cuda::KeyRunTask*>(upload.pointer(tasks));
    pass.task_count = static_cast<int64_t>(keys.tasks.size());
    pass.runs = keys.runs;
    pass.first_run = upload.pointer(first_run);
    pass.row_runs = upload.pointer(row_runs);
    pass.moves = upload.pointer(moves);
    const at::Tensor q = rows_.q.slice(1, begin, end).contiguous();
    const at::Tensor made = products(q, rows_);
    const auto numbers = to_.sums.options();
    const int64_t heads = pass.heads, count = pass.rows;
    const at::Tensor found = at::empty({heads, count, RowNumber::count}, numbers),
                     distances = at::empty({heads, count, pass.parts}, numbers),
                     about = at::empty({heads, count, 2}, numbers),
                     moved = at::empty({heads, count, pass.runs, kMovedSums}, numbers);
    pass.q = q.const_data_ptr();
    pass.products = made.const_data_ptr<float>();
    pass.numbers = found.mutable_data_ptr<double>();
    pass.distances = distances.mutable_data_ptr<double>();
    pass.about = about.mutable_data_ptr<double>();
    pass.moved = moved.mutable_data_ptr<double>();
    const cuda::Stream stream = current_stream(q);
    cuda::row_numbers(pass, stream);
    cuda::moved_keys(pass, stream);
    cuda::add_rows(pass,
                   {.octave_rows = upload.pointer(octaves),
                    .octaves = to_.sums.size(1),
                    .sums = to_.sums.mutable_data_ptr<double>(),
                    .attended = to_.attended.mutable_data_ptr<double>(),
                    .largest = to_.largest.mutable_data_ptr<double>(),
                    .stride_sums = to_.sums.stride(0),
                    .stride_attended = to_.attended.stride(0),
                    .stride_largest = to_.largest.stride(0)},
                   end == rows_.rows() ? edges() : cuda::EdgesPass{}, stream);
  }

 private:
  // Once the last rows are added.
  cuda::EdgesPass edges() const {
    return {.heads = rows_.heads(),
            .rows = rows_.rows(),
            .tokens = rows_.tokens.size(0),
            .document = document_,
            .t = shared_.pointer(t_),
            .ids = shared_.pointer(ids_),
            .strongest_p = strongest_p_.const_data_ptr<float>(),
            .strongest_key = strongest_key_.const_data_ptr<int32_t>(),
            .edges = to_.edges.mutable_data_ptr<double>(),
            .edge_tokens = to_.edge_tokens.mutable_data_ptr<double>(),
            .stride_edges = to_.edges.stride(0),
            .stride_tokens = to_.edge_tokens.stride(0)};
  }

  // So that the rows of a task have as many lines as the kernel computes together.
  int64_t rows_of_task() const { return std::max<int64_t>(1, cuda::kMovedLines / most_heads_); }

  // What does not depend on which rows are added.
  cuda::RowsPass common(int64_t begin, int64_t end) {
    cuda::RowsPass pass;
    pass.heads = rows_.heads();
    pass.rows = end - begin;
    pass.tokens = rows_.k.size(1);
    pass.t = shared_.pointer(t_) + begin;
    pass.ids = shared_.pointer(ids_);
    pass.first_head = shared_.pointer(first_head_);
    pass.scale = static_cast<float>(rows_.scores.scale);
    pass.cap = static_cast<float>(rows_.scores.cap.value_or(0));
    pass.window = rows_.scores.window.value_or(0);
    if (slopes_.defined()) pass.slopes = slopes_.const_data_ptr<float>();
    if (sinks_.defined()) pass.sinks = sinks_.const_data_ptr<float>();
    pass.places = rows_.has_places();
    pass.parts = to_.attended.size(2);
    pass.document_rows = rows_.rows();
    pass.earlier = begin;
    pass.strongest_p = strongest_p_.mutable_data_ptr<float>();
    pass.strongest_key = strongest_key_.mutable_data_ptr<int32_t>();
    pass.type = number_type(rows_.q);
    pass.keys = {k_.const_data_ptr(), nullptr, k_.size(0), k_.stride(0), k_.stride(1)};
    pass.d = rows_.q.size(2);
    if (rows_.cos.defined()) {
      pass.cos = rows_.cos.const_data_ptr<float>();
      pass.sin = rows_.sin.const_data_ptr<float>();
      pass.pairs = rows_.cos.size(1);
      pass.interleaved = rows_.interleaved;
    }
    return pass;
  }

  const QueryRows& rows_;
  int64_t document_;
  const RowSums& to_;
  at::Tensor strongest_p_, strongest_key_, k_, slopes_, sinks_;
  Upload shared_;
  int64_t most_heads_ = 0;
  size_t ids_ = 0, t_ = 0, first_head_ = 0;
};

}  // namespace

void add_row_sums_on_gpu(const QueryRows& rows, int64_t document, const RowSums& to) {
  GpuRows gpu(rows, document, to);
  const int64_t together = rows_together(rows.heads(), rows.k.size(1));
  for (int64_t begin = 0; begin < rows.rows(); begin += together) {
    gpu.add(begin, std::min(begin + together, rows.rows()));
  }
}

int64_t row_sums_workspace_on_gpu(int64_t heads, int64_t rows, int64_t tokens, int64_t d_head) {
  const int64_t together = std::min(rows, rows_together(heads, tokens));
  const int64_t of_row =
      heads * (tokens * 4 + kMostRuns * kMovedSums * 8 + d_head * 8 + (RowNumber::count + 40) * 8);
  return together * (of_row + kMostRuns * 4) + tokens * 8 + heads * rows * 3 * kStrongest * 4;
}

}  // namespace ropewalk
