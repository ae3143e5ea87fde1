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
#include "ropewalk/figures/asked_figures.h"
#include "ropewalk/figures/parts/time_axis.h"
#include "ropewalk/moments/keep_options.h"
#include "ropewalk/study/source/dataset.h"

namespace ropewalk {

// A training run to be measured, as an experiment file describes it (docs/experiments.md). Paths
// are absolute or relative to the file. Lines are the file's, for messages.

inline constexpr size_t kLongestLabel = 200;  // file systems take names of 255 bytes

struct CheckpointEntry {
  std::string label;
  std::optional<std::filesystem::path> path;  // its folder
  std::optional<std::string> revision;        // of the experiment's Hub model
  std::string subfolder;                      // of the revision, or of the model's folder
  std::optional<int64_t> random;              // seed: fresh weights instead of trained ones
  std::optional<std::string> vectors;   // captured ones instead: a folder or hf://datasets/…
  std::optional<int64_t> step, tokens;  // given; see training_time.h
  int line = 0;
};

// A part of a training run, or one of several models.
struct Phase {
  std::string name;                      // of a model: empty
  std::optional<std::string> model;      // where it is another than the experiment's
  std::optional<std::string> tokenizer;  // likewise
  std::vector<int64_t> contexts;         // tokens per document, ascending; none: the checkpoint's
  Json config = Json::object();          // overrides of config.json
  std::optional<std::string> revisions;  // a pattern of the Hub model's revisions
  std::vector<CheckpointEntry> checkpoints;
  int line = 0;
  int context_line = 0;

  // What a checkpoint is called in results: once or, where there are several contexts, for each of
  // them (analysis/run/context_label.h).
  std::vector<std::string> labels_of(const CheckpointEntry& entry) const;
};

struct Experiment {
  std::filesystem::path file;
  std::string text;  // of the file as it was read: it may be edited while the study runs
  std::string name;
  std::optional<std::string> model;      // Hub id or folder
  std::optional<std::string> tokenizer;  // Hub id, folder or tokenizer.json
  struct Corpus {
    std::filesystem::path path;          // empty: a dataset
    std::optional<DatasetName> dataset;  // of the Hub
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
  AskedFigures figures;  // besides those of every run
  TimeAxis axis = TimeAxis::labels;
  std::string dtype = "auto";
  std::string device = "auto";
  std::optional<int64_t> memory;
  int64_t blocks = 16;
  bool sliding = false;
  KeepOptions keep;
  std::set<std::string> named;  // keys of `keep` that the file has
  std::optional<std::string> vectors;
  // What is taken from heads of every checkpoint, on entries of the corpus after its documents.
  struct Ablate {
    std::vector<SetName> sets;
    std::vector<EditName> edits;
    int64_t documents = 16;
    int64_t controls = 20;
    int line = 0;

    Json to_json() const;
  };
  std::optional<Ablate> ablate;
  int64_t components = 10;
  std::vector<Phase> phases;
  bool models = false;  // phases are models side by side, each a phase of one checkpoint
  int model_line = 0;
  int tokenizer_line = 0;
  int device_line = 0;
  int memory_line = 0;

  // Whether its checkpoints are captured vectors; then all are.
  bool from_vectors() const;
  // The model of a phase, and its line.
  const std::optional<std::string>& model_of(const Phase& phase) const;
  int model_line_of(const Phase& phase) const;
  // Where a checkpoint of a model that is a folder is.
  std::filesystem::path folder_in(const std::filesystem::path& folder,
                                  const CheckpointEntry& entry) const;
  // "demo.yaml:12", for messages.
  std::string at(int line) const;
  // A path of the file, made absolute.
  std::filesystem::path resolve(const std::filesystem::path& path) const;
};

// `asked` is a file or the name of a ready-made experiment (ready_made.h). Throws InputError with
// file, line, what was found and what to write instead.
Experiment read_experiment(const std::filesystem::path& asked);

}  // namespace ropewalk
