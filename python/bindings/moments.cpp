#include "ropewalk/moments/tensor_capture.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <omp.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "python/bindings/job.h"
#include "python/bindings/processes.h"
#include "python/bindings/tensors.h"
#include "ropewalk/analysis/analyze_capture.h"
#include "ropewalk/analysis/capture_facts.h"
#include "ropewalk/base/atomic_file.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/folder_lock.h"
#include "ropewalk/base/json.h"
#include "ropewalk/base/parallel.h"
#include "ropewalk/moments/merge.h"
#include "ropewalk/moments/moments_file.h"
#include "ropewalk/study/analyze.h"
#include "ropewalk/study/capture_folder.h"
#include "ropewalk/study/capture_store.h"
#include "ropewalk/study/tables.h"
#include "ropewalk/study/training_time.h"

namespace ropewalk::python {
namespace {

// Tensors of its own, which can be joined to others in place.
CaptureMoments copy_of(CaptureMoments moments) {
  for (Accumulated& kept : moments.accumulated) {
    for (auto* fields : {&kept.total, &kept.blocks}) {
      for (at::Tensor& field : *fields) field = field.clone();
    }
  }
  return moments;
}

// What ropewalk.Moments holds: what was read from a file or joined, and what is added to it.
class Kept {
 public:
  explicit Kept(const TensorShape& shape) : shape_(shape), live_(make(shape)) {}
  explicit Kept(CaptureMoments before) : before_(std::move(before)) {
    const CaptureFacts facts = read_capture_facts(before_->info.to_json(), "moments");
    shape_ = {.layers = facts.origin.layers,
              .q_heads = facts.origin.n_q_heads,
              .kv_heads = facts.origin.n_kv_heads,
              .head_dim = before_->streams(StreamKind::query).d(),
              .blocks = before_->blocks(),
              .attention_scale = facts.units.scale > 0 ? facts.units.scale : 0,
              .context = before_->info.context};
    for (const DocumentRecord& document : before_->documents) former_.insert(document.index);
  }
  const TensorShape& shape() const { return shape_; }

  // Rows of a batch, [rows, heads, tokens, d], are documents of these numbers. `turned`: tokens
  // that RoPE was chosen for; 0: of the longest row.
  void add(int64_t layer, const std::vector<int64_t>& documents, const at::Tensor& q,
           const at::Tensor& k, const std::optional<at::Tensor>& positions, int64_t turned) {
    if (!live_) live_ = make(shape_);
    for (const int64_t document : documents) {
      if (former_.contains(document)) {
        throw UsageError("document {} was added before", document);
      }
    }
    live_->require_new(layer, documents);
    if (turned == 0 && !shape_.config.empty() && q.numel() > 0) {
      turned = positions ? positions->max().item<int64_t>() + 1 : q.size(2);
    }
    for (size_t i = 0; i < documents.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      std::optional<at::Tensor> t;
      if (positions) t = positions->dim() == 2 ? positions->select(0, row) : *positions;
      live_->add(layer, documents[i], q.select(0, row), k.select(0, row), t, turned);
    }
  }

  void fetch() {
    if (live_) live_->fetch();
  }
  void set_context(int64_t context) {
    shape_.context = context;
    if (live_) live_->set_context(context);
  }
  // What was added becomes that of all processes, in the first one.
  void join_in_first(const Communicator& processes) {
    if (!live_) throw UsageError("nothing was added yet");
    live_->join_in_first(processes);
  }

  // Everything; may share memory with this.
  CaptureMoments all() const {
    if (!live_) return *before_;
    CaptureMoments added = live_->moments();
    if (!before_) return added;
    CaptureMoments sum = copy_of(*before_);
    if (!added.documents.empty()) join_capture(sum, std::move(added));
    return sum;
  }

 private:
  static std::unique_ptr<TensorCapture> make(const TensorShape& shape) {
    return std::make_unique<TensorCapture>(shape);
  }

  TensorShape shape_;
  std::optional<CaptureMoments> before_;
  std::set<int64_t> former_;  // its documents
  std::unique_ptr<TensorCapture> live_;
};

CaptureMoments named(const Kept& kept, const std::string& label, const std::string& model) {
  CaptureMoments moments = kept.all();
  if (moments.documents.empty()) throw UsageError("nothing was added yet");
  if (!label.empty()) moments.info.label = label;
  if (!model.empty()) moments.info.model = model;
  return moments;
}

// Python owns what these return.
Kept* load(nb::handle listener, const std::string& path) {
  std::unique_ptr<Kept> kept;
  run_job(listener,
          [&] { kept = std::make_unique<Kept>(read_capture(path, Blocks::needed, Tokens::all)); });
  return kept.release();
}

void save(nb::handle listener, const Kept& kept, const std::string& out, const std::string& label,
          const std::string& model) {
  run_job(listener, [&] {
    const CaptureMoments moments = named(kept, label, model);
    AtomicFolder folder(out);
    write_moments(folder.path() / kMomentsName, moments);
    describe_in(folder.path(), moments.info);
    folder.commit();
  });
}

// Documents of the second are numbered `shift` higher.
Kept* sum(const Kept& one, const Kept& other, int64_t shift) {
  const nb::gil_scoped_release released;
  CaptureMoments whole = copy_of(one.all()), part = copy_of(other.all());
  require_mergeable(whole.info, "the first", part.info, "the second");
  for (DocumentRecord& document : part.documents) document.index += shift;
  for (const DocumentRecord& document : part.documents) {
    const auto same = [&](const DocumentRecord& there) { return there.index == document.index; };
    if (std::any_of(whole.documents.begin(), whole.documents.end(), same)) {
      throw UsageError("both hold document {}; expected sums of different documents",
                       document.index);
    }
  }
  join_capture(whole, std::move(part));
  return new Kept(std::move(whole));
}

// For this thread: the rest of the cores feed the GPU of the model that trains meanwhile.
void use_a_quarter_of_the_cores() {
  at::get_num_threads();  // which sets its own number first
  const int cores = std::max(1, omp_get_num_procs() / 4);
  omp_set_num_threads(cores);
  limit_cores(static_cast<size_t>(cores));
}

// What a summary says of one checkpoint, under the same keys.
Json summary_of(const Json& summary, const std::string& label) {
  Json found = Json::object();
  for (const auto& [key, value] : summary.items()) {
    if (value.is_object() && value.contains(label)) found[key][label] = value[label];
  }
  return found;
}

// The tables of a run that goes on, one checkpoint after the other: each is analyzed once.
class Tables {
 public:
  // `beside`: a model trains meanwhile.
  explicit Tables(bool beside) : beside_(beside) {}

  // `place`: in the order of the run. A checkpoint that stood there is replaced.
  void add(nb::handle listener, const Kept& kept, int64_t place, const std::string& label,
           const std::string& model, int64_t components) {
    run_job(listener, [&] {
      if (beside_) use_a_quarter_of_the_cores();
      CheckpointAnalysis analysis =
          analyze_capture(as_stored(named(kept, label, model)), components, label);
      fill_training_time(analysis);
      checkpoints_.insert_or_assign(place, std::move(analysis));
    });
  }

  void remove(int64_t place) { checkpoints_.erase(place); }

  // Returns what summary.json says of one checkpoint, as JSON: the whole grows with the run.
  std::string write(nb::handle listener, const std::string& table, const std::string& label) const {
    std::string said;
    run_job(listener, [&] {
      if (beside_) use_a_quarter_of_the_cores();
      check_table_path(table);
      std::vector<CheckpointAnalysis> checkpoints;
      for (const auto& [place, checkpoint] : checkpoints_) {
        checkpoints.push_back(checkpoint);
        checkpoints.back().order = static_cast<int64_t>(checkpoints.size()) - 1;
      }
      said = summary_of(write_tables(table, std::move(checkpoints)).summary, label).dump();
    });
    return said;
  }

 private:
  bool beside_;
  std::map<int64_t, CheckpointAnalysis> checkpoints_;
};

nb::object list_of(const std::vector<int64_t>& values) {
  return give_tensor(at::tensor(values, at::kLong));
}

// The tensors of its file (docs/formats.md), as capsules by name.
nb::dict tensors(const Kept& kept) {
  const CaptureMoments moments = copy_of(kept.all());
  nb::dict named;
  const auto put = [&](const std::string& name, nb::object value) { named[name.c_str()] = value; };
  std::vector<int64_t> index;
  for (const DocumentRecord& document : moments.documents) index.push_back(document.index);
  put("document.index", list_of(index));
  put("block.documents", list_of(moments.counts.documents));
  put("block.tokens", list_of(moments.counts.tokens));
  put("block.position_mean", give_tensor(at::tensor(moments.counts.position_mean, at::kDouble)));
  put("block.position_scatter",
      give_tensor(at::tensor(moments.counts.position_scatter, at::kDouble)));
  for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
    std::vector<int64_t> layers, heads;
    for (const StreamId& id : moments.ids(kind)) {
      layers.push_back(id.layer);
      heads.push_back(id.head);
    }
    put(kind_name(kind) + std::string(".layer"), list_of(layers));
    put(kind_name(kind) + std::string(".head"), list_of(heads));
  }
  const CaptureShape shape{moments.streams(StreamKind::query).d(), moments.info.point, true,
                           moments.info.context};
  for (const Accumulated& one : moments.accumulated) {
    const std::vector<KeptField> fields = one.accumulator->fields(shape);
    for (size_t i = 0; i < fields.size(); ++i) {
      put(total_name(*one.accumulator, fields[i]), give_tensor(one.total[i]));
      if (!fields[i].blocks || one.blocks.empty()) continue;
      put(blocks_name(*one.accumulator, fields[i]), give_tensor(one.blocks[i]));
    }
  }
  return named;
}

}  // namespace

void bind_moments(nb::module_& module) {
  nb::class_<Kept>(module, "Kept")
      .def("__init__",
           [](Kept* self, int64_t layers, int64_t q_heads, int64_t kv_heads, int64_t d_head,
              int64_t blocks, double scale, int64_t context, const std::string& config) {
             new (self) Kept(
                 TensorShape{layers, q_heads, kv_heads, d_head, blocks, scale, context, config});
           })
      .def("shape",
           [](const Kept& kept) {
             const TensorShape& shape = kept.shape();
             return std::vector<int64_t>{shape.layers, shape.q_heads, shape.kv_heads,
                                         shape.head_dim, shape.blocks};
           })
      .def(
          "add",
          [](Kept& kept, int64_t layer, const std::vector<int64_t>& documents, nb::handle q,
             nb::handle k, nb::handle positions, int64_t turned) {
            const at::Tensor queries = take_tensor(q), keys = take_tensor(k);
            std::optional<at::Tensor> t;
            if (!positions.is_none()) t = take_tensor(positions);
            const nb::gil_scoped_release released;
            kept.add(layer, documents, queries, keys, t, turned);
          },
          nb::arg("layer"), nb::arg("documents"), nb::arg("q"), nb::arg("k"),
          nb::arg("positions").none(), nb::arg("turned") = 0)
      .def("info", [](const Kept& kept) { return kept.all().info.to_json().dump(); })
      .def("tensors", tensors)
      .def("set_context", &Kept::set_context)
      .def("fetch",
           [](Kept& kept) {
             const nb::gil_scoped_release released;
             kept.fetch();
           })
      .def("join_in_first",
           [](Kept& kept, nb::object group) { kept.join_in_first(python_processes(group)); })
      .def("save", [](const Kept& kept, nb::handle listener, const std::string& out,
                      const std::string& label,
                      const std::string& model) { save(listener, kept, out, label, model); });
  module.def("load", load);
  module.def("sum", sum);
  nb::class_<FolderLock>(module, "FolderLock")
      .def("__init__", [](FolderLock* self, const std::string& folder) {
        new (self) FolderLock(folder);
        self->sign();
      });
  module.def("refuse_held", [](const std::string& folder) { refuse_held(folder); });
  nb::class_<Tables>(module, "Tables")
      .def(nb::init<bool>(), nb::arg("beside") = false)
      .def("add", &Tables::add)
      .def("remove", &Tables::remove)
      .def("write", &Tables::write, nb::arg("listener"), nb::arg("table"), nb::arg("label") = "");
}

}  // namespace ropewalk::python
