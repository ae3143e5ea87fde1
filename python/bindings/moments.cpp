#include "ropewalk/moments/tensors/shared_moments.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <omp.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "python/bindings/job.h"
#include "python/bindings/processes.h"
#include "python/bindings/tensors.h"
#include "ropewalk/analysis/analyze/analyze_capture.h"
#include "ropewalk/analysis/analyze/capture_facts.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/folder_lock.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/base/processes/parallel.h"
#include "ropewalk/moments/collectors/join_batches.h"
#include "ropewalk/moments/files/merge.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/moments/tensors/row_health.h"
#include "ropewalk/study/capture/capture_folder.h"
#include "ropewalk/study/capture/written_capture.h"
#include "ropewalk/study/experiment/training_time.h"
#include "ropewalk/study/show/analyze.h"
#include "ropewalk/study/show/tables_folder.h"
#include "ropewalk/study/show/watched_steps.h"

namespace ropewalk::python {
namespace {

TensorShape tensor_shape(const CaptureMoments& moments) {
  const CaptureFacts facts = capture_facts(moments.info, "moments");
  return {.layers = facts.origin.layers,
          .q_heads = facts.origin.n_q_heads,
          .kv_heads = facts.origin.n_kv_heads,
          .head_dim = moments.streams(StreamKind::query).d(),
          .blocks = moments.blocks(),
          .attention_scale = facts.units.scale > 0 ? facts.units.scale : 0,
          .context = moments.info.context};
}

// Releases the GIL while a thread waits for moments that another thread uses, because the other one
// may need it.
template <typename Work>
auto without_gil(const Work& work) {
  const nb::gil_scoped_release released;
  return work();
}

std::unique_ptr<SharedMoments> keep(CaptureMoments moments) {
  const TensorShape shape = tensor_shape(moments);
  return std::make_unique<SharedMoments>(std::move(moments), shape);
}

CaptureMoments named(const SharedMoments& kept, const std::string& label,
                     const std::string& model) {
  CaptureMoments moments = kept.all();
  if (moments.documents.empty()) throw UsageError("nothing was added yet");
  if (!label.empty()) moments.info.label = label;
  if (!model.empty()) moments.info.model = model;
  return moments;
}

// Python owns the objects that these functions return.
SharedMoments* load(nb::handle listener, const std::string& path) {
  std::unique_ptr<SharedMoments> kept;
  run_job(listener, [&] { kept = keep(read_capture(path, Blocks::needed, Tokens::all)); });
  return kept.release();
}

SharedMoments* sum(const SharedMoments& one, const SharedMoments& other, bool renumber) {
  return without_gil([&] { return keep(sum_of(one, other, renumber)); }).release();
}

void save(nb::handle listener, const SharedMoments& kept, const std::string& out,
          const std::string& label, const std::string& model) {
  run_job(listener, [&] {
    const CaptureMoments moments = named(kept, label, model);
    AtomicFolder folder(out);
    write_moments(folder.path() / kMomentsName, moments);
    describe_in(folder.path(), moments.info);
    folder.commit();
  });
}

// Limits the threads of this thread's work, because the other cores feed the GPU of the model that
// is being trained.
void use_a_quarter_of_the_cores() {
  at::get_num_threads();  // must come first: it sets torch's own default
  const int cores = std::max(1, omp_get_num_procs() / 4);
  omp_set_num_threads(cores);
  limit_cores(static_cast<size_t>(cores));
}

// Analyses a step that was measured during a training. Returns its entry of summary.json, as JSON.
std::string step(nb::handle listener, const SharedMoments& kept, const std::string& folder,
                 const std::string& label, const std::string& model, int64_t components,
                 bool keep_moments, int64_t number, const std::vector<double>& of_blocks) {
  std::string said;
  run_job(listener, [&] {
    use_a_quarter_of_the_cores();
    said =
        write_step(folder, named(kept, label, model), {number, of_blocks}, components, keep_moments)
            .dump();
  });
  return said;
}

void step_tables(nb::handle listener, const std::vector<std::string>& folders,
                 const std::string& out, int64_t components) {
  run_job(listener, [&] {
    write_tables_of_steps({folders.begin(), folders.end()}, out, components);
  });
}

// Builds the tables of several moments, which are analysed one after the other.
class TablesBuilder {
 public:
  void add(nb::handle listener, const SharedMoments& kept, const std::string& label,
           const std::string& model, int64_t components) {
    run_job(listener, [&] {
      CheckpointTable analysis =
          analyze_capture(rounded_to_file(named(kept, label, model)), components, label);
      fill_training_time(analysis);
      analysis.order = static_cast<int64_t>(checkpoints_.size());
      checkpoints_.push_back(std::move(analysis));
    });
  }

  void write(nb::handle listener, const std::string& out) const {
    run_job(listener, [&] { write_tables(tables_folder(out), checkpoints_); });
  }

 private:
  std::vector<CheckpointTable> checkpoints_;
};

// How processes share batches: Python counts the documents of every batch.
std::unique_ptr<SharedMoments> join(SharedMoments& kept, const nb::object& group,
                                    const std::vector<int64_t>& documents,
                                    const std::vector<int64_t>& layers, int64_t blocks) {
  const Communicator processes = python_processes(group);
  const SharedBatches shared{kept.shape().blocks, blocks, documents};
  return without_gil([&] { return kept.join(shared, layers, processes); });
}

nb::object list_of(const std::vector<int64_t>& values) {
  return give_tensor(at::tensor(values, at::kLong));
}

// The tensors of the moments file (docs/formats.md) as capsules by name, and its description.
nb::tuple contents(const SharedMoments& kept) {
  const CaptureMoments moments = without_gil([&] { return copy_of(kept.all()); });
  nb::dict named;
  const auto put = [&](const std::string& name, nb::object value) { named[name.c_str()] = value; };
  const auto of_documents = [&](const char* name, const auto& number) {
    std::vector<int64_t> numbers;
    for (const DocumentRecord& document : moments.documents) {
      numbers.push_back(static_cast<int64_t>(number(document)));
    }
    put(name, list_of(numbers));
  };
  of_documents("document.index", [](const DocumentRecord& one) { return one.index; });
  of_documents("document.digest", [](const DocumentRecord& one) { return one.digest; });
  of_documents("document.prefix_digest",
               [](const DocumentRecord& one) { return one.prefix_digest; });
  of_documents("document.tokens", [](const DocumentRecord& one) { return one.tokens; });
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
  const CaptureShape shape =
      shape_of(moments.info, moments.documents, moments.streams(StreamKind::query).d());
  for (const AccumulatedFields& one : moments.accumulated) {
    const std::vector<KeptField> fields = one.accumulator->fields(shape);
    for (size_t i = 0; i < fields.size(); ++i) {
      put(total_name(*one.accumulator, fields[i]),
          give_tensor(one.total[i].narrow(1, 0, fields[i].width).contiguous()));
      if (!fields[i].blocks || one.blocks.empty()) continue;
      put(blocks_name(*one.accumulator, fields[i]), give_tensor(one.blocks[i]));
    }
  }
  return nb::make_tuple(named, moments.info.to_json().dump());
}

void bind_shared_moments(nb::module_& module) {
  nb::class_<SharedMoments>(module, "SharedMoments")
      .def(
          "__init__",
          [](SharedMoments* self, int64_t layers, int64_t q_heads, int64_t kv_heads, int64_t d_head,
             int64_t blocks, double scale, int64_t context, const std::string& config,
             const std::string& planned) {
            TensorShape shape{layers, q_heads, kv_heads, d_head, blocks, scale, context, config};
            if (!planned.empty()) read_planned(parse_json(planned, "planned"), shape);
            new (self) SharedMoments(shape);
          },
          nb::arg("layers"), nb::arg("q_heads"), nb::arg("kv_heads"), nb::arg("d_head"),
          nb::arg("blocks"), nb::arg("scale"), nb::arg("context"), nb::arg("config"),
          nb::arg("planned") = "")
      .def("shape",
           [](const SharedMoments& kept) {
             const TensorShape& shape = kept.shape();
             return std::vector<int64_t>{shape.layers, shape.q_heads, shape.kv_heads,
                                         shape.head_dim, shape.blocks};
           })
      .def(
          "add",
          [](SharedMoments& kept, int64_t layer,
             const std::optional<std::vector<int64_t>>& documents, nb::handle q, nb::handle k,
             nb::handle positions, int64_t turned) {
            const at::Tensor queries = take_tensor(q), keys = take_tensor(k);
            std::optional<at::Tensor> t;
            if (!positions.is_none()) t = take_tensor(positions);
            without_gil([&] { kept.add(layer, documents, queries, keys, t, turned); });
          },
          nb::arg("layer"), nb::arg("documents").none(), nb::arg("q"), nb::arg("k"),
          nb::arg("positions").none(), nb::arg("turned") = 0)
      .def("next_document",
           [](const SharedMoments& kept) {
             return without_gil([&] { return kept.next_document(); });
           })
      .def("require_whole",
           [](const SharedMoments& kept) { without_gil([&] { kept.require_complete(); }); })
      .def("contents", contents)
      .def("set_context", [](SharedMoments& kept,
                             int64_t context) { without_gil([&] { kept.set_context(context); }); })
      .def("fetch_finite",
           [](SharedMoments& kept) {
             const std::set<int64_t> blocks = without_gil([&] { return kept.fetch_finite(); });
             return std::vector<int64_t>(blocks.begin(), blocks.end());
           })
      .def("leave_out",
           [](SharedMoments& kept, int64_t block) { without_gil([&] { kept.leave_out(block); }); })
      .def(
          "join",
          [](SharedMoments& kept, const nb::object& group, const std::vector<int64_t>& documents,
             const std::vector<int64_t>& layers,
             int64_t blocks) { return join(kept, group, documents, layers, blocks).release(); },
          nb::rv_policy::take_ownership)
      .def("save", [](const SharedMoments& kept, nb::handle listener, const std::string& out,
                      const std::string& label,
                      const std::string& model) { save(listener, kept, out, label, model); });
}

void bind_row_health(nb::module_& module) {
  nb::class_<RowHealth>(module, "RowHealth")
      .def(nb::init<int64_t, int64_t>())
      .def(
          "add",
          [](RowHealth& kept, int64_t layer, int64_t wanted, nb::handle q, nb::handle k,
             nb::handle positions, double scale, int64_t window, double cap, nb::handle sinks) {
            ScoreOptions scores{.scale = scale};
            if (window > 0) scores.window = window;
            if (cap > 0) scores.cap = cap;
            if (!sinks.is_none()) scores.sinks = take_tensor(sinks);
            const at::Tensor queries = take_tensor(q), keys = take_tensor(k);
            const at::Tensor t = take_tensor(positions);
            without_gil([&] { kept.add(layer, wanted, queries, keys, t, scores); });
          },
          nb::arg("layer"), nb::arg("wanted"), nb::arg("q"), nb::arg("k"), nb::arg("positions"),
          nb::arg("scale"), nb::arg("window"), nb::arg("cap"), nb::arg("sinks").none())
      .def("numbers", [](const RowHealth& kept) {
        return give_tensor(without_gil([&] { return kept.numbers(); }));
      });
}

}  // namespace

void bind_moments(nb::module_& module) {
  bind_shared_moments(module);
  bind_row_health(module);
  module.def("load", load);
  module.def("sum", sum);
  nb::class_<FolderLock>(module, "FolderLock")
      .def("__init__", [](FolderLock* self, const std::string& folder) {
        new (self) FolderLock(folder);
        self->sign();
      });
  module.def("refuse_held", [](const std::string& folder) { require_unlocked(folder); });
  nb::class_<TablesBuilder>(module, "Tables")
      .def(nb::init<>())
      .def("add", &TablesBuilder::add)
      .def("write", &TablesBuilder::write);
  module.def("write_step", step);
  module.def("write_step_tables", step_tables);
}

}  // namespace ropewalk::python
