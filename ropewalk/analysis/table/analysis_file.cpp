#include "ropewalk/analysis/table/analysis_file.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <type_traits>

#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/version.h"

namespace ropewalk {
namespace {

// What is kept of each struct, for who writes and for who reads. A struct that gets another member
// is another edition: kLayout counts them.
constexpr int kLayout = 4;

template <typename Archive>
void members(Archive& with, CheckpointOrigin& x) {
  with(x.architecture, x.layers, x.n_q_heads, x.n_kv_heads, x.head_dim, x.dtype, x.device,
       x.context, x.backend, x.accumulators);
}
template <typename Archive>
void members(Archive& with, LogitUnits& x) {
  with(x.scale, x.context, x.scale_of_layer);
}
template <typename Archive>
void members(Archive& with, HeadColumn& x) {
  with(x.value, x.se, x.replicates);
}
template <typename Archive>
void members(Archive& with, HeadAxis& x) {
  with(x.vector, x.drift, x.sign);
}
template <typename Archive>
void members(Archive& with, SeriesGrid& x) {
  with(x.x, x.end, x.mean);
}
template <typename Archive>
void members(Archive& with, SeriesMean& x) {
  with(x.grid, x.rope, x.value, x.se, x.heads);
}
template <typename Archive>
void members(Archive& with, SeriesSums& x) {
  with(x.grid, x.rope, x.sums, x.sizes, x.heads);
}
template <typename Archive>
void members(Archive& with, HeadSeries& x) {
  with(x.grid, x.begin, x.value, x.se, x.means, x.sums);
}
template <typename Archive>
void members(Archive& with, LossRow& x) {
  with(x.begin, x.end, x.loss, x.se, x.documents, x.groups, x.tokens);
}
template <typename Archive>
void members(Archive& with, LossPart& x) {
  with(x.key, x.loss, x.tokens);
}
template <typename Archive>
void members(Archive& with, EdgeToken& x) {
  with(x.position, x.around, x.id, x.before, x.text, x.after);
}
template <typename Archive>
void members(Archive& with, EdgeRow& x) {
  with(x.layer, x.q_head, x.kv_head, x.rope, x.document, x.query, x.key, x.p);
}
template <typename Archive>
void members(Archive& with, CheckpointTable& x) {
  with(x.model, x.label, x.phase, x.order, x.step, x.tokens, x.random, x.independent_model,
       x.origin, x.units, x.last_layer, x.documents, x.known_documents, x.blocks);
  with(x.layer, x.q_head, x.pc, x.kv_head, x.rope, x.n_q, x.n_k, x.n_blocks, x.flag, x.head_flag);
  with(x.axes, x.columns, x.block_sizes, x.series, x.grids, x.series_flag, x.loss, x.loss_parts,
       x.edges);
}

class FieldWriter {
 public:
  std::string bytes;

  template <typename... Values>
  void operator()(Values&... values) {
    (put(values), ...);
  }

 private:
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void put(Number& number) { put_raw(&number, sizeof number); }
  void put(std::string& text) {
    put_size(text.size());
    put_raw(text.data(), text.size());
  }
  template <typename Value>
  void put(std::vector<Value>& values) {
    put_size(values.size());
    if constexpr (std::is_arithmetic_v<Value>) {
      put_raw(values.data(), values.size() * sizeof(Value));
    } else {
      for (Value& value : values) put(value);
    }
  }
  template <typename One, typename Other>
  void put(std::pair<One, Other>& values) {
    (*this)(values.first, values.second);
  }
  void put(std::map<int64_t, double>& values) {
    std::vector<std::pair<int64_t, double>> list(values.begin(), values.end());
    put(list);
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void put(Struct& value) { members(*this, value); }
  void put_size(uint64_t size) { put_raw(&size, sizeof size); }
  void put_raw(const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  }
};

class FieldReader {
 public:
  FieldReader(std::string_view bytes, const std::string& source) : left_(bytes), source_(source) {}

  template <typename... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  [[noreturn]] void refuse() const {
    throw InputError("{}: is damaged, or was written by another edition of ropewalk than {}",
                     source_, version());
  }
  bool ended() const { return left_.empty(); }

 private:
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void get(Number& number) {
    if constexpr (std::is_same_v<Number, bool>) {
      uint8_t byte = 0;
      get_raw(&byte, 1);
      number = byte != 0;
    } else {
      get_raw(&number, sizeof number);
    }
  }
  void get(std::string& text) {
    text.resize(get_size(1));
    get_raw(text.data(), text.size());
  }
  template <typename Value>
  void get(std::vector<Value>& values) {
    if constexpr (std::is_arithmetic_v<Value>) {
      values.resize(get_size(sizeof(Value)));
      get_raw(values.data(), values.size() * sizeof(Value));
    } else {
      // every element takes at least the bytes of one size
      values.resize(get_size(sizeof(uint64_t)));
      for (Value& value : values) get(value);
    }
  }
  template <typename One, typename Other>
  void get(std::pair<One, Other>& values) {
    (*this)(values.first, values.second);
  }
  void get(std::map<int64_t, double>& values) {
    std::vector<std::pair<int64_t, double>> list;
    get(list);
    values.insert(list.begin(), list.end());
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void get(Struct& value) { members(*this, value); }
  // Reads the size of a list whose elements take at least `each` bytes; refuses more than the file
  // can hold.
  size_t get_size(size_t each) {
    uint64_t size = 0;
    get_raw(&size, sizeof size);
    if (size > left_.size() / each) refuse();
    return static_cast<size_t>(size);
  }
  void get_raw(void* data, size_t size) {
    if (size > left_.size()) refuse();
    if (size > 0) std::memcpy(data, left_.data(), size);
    left_.remove_prefix(size);
  }

  std::string_view left_;
  const std::string& source_;
};

// Identifies the program and the statistics that it knows.
std::string edition() {
  Sha256 known;
  for (const Statistic* statistic : statistics()) known.update(statistic->key + "\n");
  for (const SeriesStatistic* one : series()) known.update(one->key + "\n");
  return fmt::format("ropewalk {} layout {} statistics {}", version(), kLayout,
                     known.hex().substr(0, 16));
}

std::string heading(std::string_view payload) {
  return fmt::format("{} bytes {} sha256 {}\n", edition(), payload.size(), sha256_hex(payload));
}

// Whether lists have the lengths that their users expect.
bool fits(const CheckpointTable& x) {
  const size_t rows = x.rows();
  for (const auto* list : {&x.q_head, &x.pc, &x.kv_head, &x.rope, &x.n_q, &x.n_k, &x.n_blocks}) {
    if (list->size() != rows) return false;
  }
  const bool flags = x.flag.size() == rows && x.head_flag.size() == rows;
  if (!flags || x.columns.size() != statistics().size()) return false;
  for (const HeadColumn& column : x.columns) {
    if (column.value.size() != rows || column.se.size() != rows) return false;
  }
  return x.axes.size() == x.head_rows().size() && x.series.size() == series().size();
}

}  // namespace

std::string pack_analysis(CheckpointTable analysis) {
  FieldWriter writer;
  writer(analysis);
  return heading(writer.bytes) + writer.bytes;
}

CheckpointTable unpack_analysis(std::string_view bytes, const std::string& source) {
  const size_t line = bytes.find('\n');
  FieldReader reader(line == std::string_view::npos ? "" : bytes.substr(line + 1), source);
  if (line == std::string_view::npos) reader.refuse();
  if (bytes.substr(0, line + 1) != heading(bytes.substr(line + 1))) reader.refuse();
  CheckpointTable analysis;
  reader(analysis);
  if (!reader.ended() || !fits(analysis)) reader.refuse();
  return analysis;
}

}  // namespace ropewalk
