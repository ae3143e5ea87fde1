#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ropewalk/analysis/ablation/edit_name.h"
#include "ropewalk/analysis/ablation/set_name.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/parts/time_axis.h"
#include "ropewalk/figures/requested_figures.h"
#include "ropewalk/moments/keep_options.h"
#include "ropewalk/study/source/dataset.h"

namespace ropewalk {

// A training run to be measured, as an experiment file describes it (docs/experiments.md). Paths
// are absolute or relative to the file. Lines are line numbers of the file, for messages.

inline constexpr size_t kLongestLabel = 200;  // file systems allow names of 255 bytes

struct CheckpointEntry {
  std::string label;
  std::optional<std::filesystem::path> path;  // the checkpoint's folder
  std::optional<std::string> revision;        // a revision of the experiment's Hub model
  std::string subfolder;                      // within the revision, or within the model's folder
  std::optional<int64_t> random;              // a seed: fresh weights instead of trained ones
  // captured vectors instead of weights: a folder or hf://datasets/…
  std::optional<std::string> vectors;
  std::optional<int64_t> step, tokens;  // as stated in the file; see training_time.h
  int line = 0;
};

// A part of a training run, or one of several models.
struct Phase {
  std::string name;                      // empty for a model
  std::optional<std::string> model;      // where it differs from the experiment's
  std::optional<std::string> tokenizer;  // where it differs from the experiment's
  std::vector<int64_t> contexts;         // tokens per document, ascending; empty: the checkpoint's
  Json config = Json::object();          // overrides of config.json
  std::optional<std::string> revisions;  // a pattern for revisions of the Hub model
  std::vector<CheckpointEntry> checkpoints;
  int line = 0;
  int context_line = 0;

  // The labels of a checkpoint in results: one, or where there are several contexts, one per
  // context (analysis/run/context_label.h).
  std::vector<std::string> labels_of(const CheckpointEntry& entry) const;
};

struct Experiment {
  std::filesystem::path file;
  // text of the file when it was read: the file may be edited while the study runs
  std::string text;
  std::string name;
  std::optional<std::string> model;      // Hub id or folder
  std::optional<std::string> tokenizer;  // Hub id, folder or tokenizer.json
  struct Corpus {
    std::filesystem::path path;          // empty: the corpus is a dataset
    std::optional<DatasetName> dataset;  // a dataset on the Hub
    std::optional<int64_t> documents;
    std::optional<int64_t> min_tokens;
    std::string field;
    std::string id;
    bool chunk = false;
    int line = 0;
  } corpus;
  std::optional<int64_t> head_count;
  int64_t head_seed = 0;
  std::vector<std::string> portraits;
  RequestedFigures figures;  // in addition to those of every run
  TimeAxis axis = TimeAxis::labels;
  std::string dtype = "auto";
  std::string device = "auto";
  std::string backend = "auto";    // one of kBackends (study/source/backend_model.h)
  bool trust_remote_code = false;  // of models that transformers runs
  std::optional<int64_t> memory;
  int64_t blocks = 16;
  bool sliding = false;
  KeepOptions keep;
  std::set<std::string> named;  // keys under `keep` in the file
  std::optional<std::string> vectors;
  // The edits that are made at every checkpoint, measured on entries of the corpus after the
  // study's documents.
  struct Ablate {
    std::vector<SetName> sets;
    std::vector<EditName> edits;
    int64_t documents = 16;
    int64_t controls = 20;
    int line = 0;

    Json to_json() const;
  };
  std::optional<Ablate> ablate;
  bool probes = false;  // also measure what heads attend to in synthetic documents
  int64_t components = 10;
  std::vector<Phase> phases;
  bool models = false;  // phases are models to be compared, each with one checkpoint
  int model_line = 0;
  int tokenizer_line = 0;
  int probes_line = 0;
  int device_line = 0;
  int memory_line = 0;

  // Whether its checkpoints are captured vectors; then all of them are.
  bool uses_captured_vectors() const;
  // The model of a phase; and the line that names it.
  const std::optional<std::string>& model_of(const Phase& phase) const;
  int model_line_of(const Phase& phase) const;
  // The folder of a checkpoint, where the model is a folder.
  std::filesystem::path folder_in(const std::filesystem::path& folder,
                                  const CheckpointEntry& entry) const;
  // The file with a line number, "demo.yaml:12", for messages.
  std::string at(int line) const;
  // Makes a path of the file absolute.
  std::filesystem::path resolve(const std::filesystem::path& path) const;
};

// Reads an experiment; `asked` is a file or the name of a ready-made experiment (ready_made.h).
// Throws InputError with file, line, what was found and what to write instead.
Experiment read_experiment(const std::filesystem::path& asked);

}  // namespace ropewalk
