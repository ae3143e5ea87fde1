#include "ropewalk/study/experiment/experiment_corpus.h"

#include <fmt/format.h>

#include "ropewalk/study/experiment/yaml_map.h"

namespace ropewalk {

void read_corpus(const YamlValue& value, Experiment& experiment) {
  Experiment::Corpus& corpus = experiment.corpus;
  corpus.line = value.line();
  if (!value.is_map()) {
    value.fail(
        "found a single value; write corpus: {path: FILE}, or {dataset: org/name, split: test}");
  }
  DatasetName dataset;
  std::string only_of_datasets;  // a key that only datasets use
  const auto of_dataset = [&](std::string& into) {
    return [&into, &only_of_datasets](const YamlValue& v) {
      into = v.text();
      only_of_datasets = v.name();
    };
  };
  value.map(
      {{"path",
        [&](const YamlValue& v) {
          corpus.path = v.text();
          corpus.line = v.line();
        }},
       {"dataset",
        [&](const YamlValue& v) {
          dataset.id = v.text();
          corpus.line = v.line();
          if (!is_hub_id(dataset.id)) {
            v.fail(fmt::format("'{}' is not a dataset on the Hub; write org/name, or path: FILE",
                               dataset.id));
          }
        }},
       {"config", of_dataset(dataset.config)},
       {"split", of_dataset(dataset.split)},
       {"revision", of_dataset(dataset.revision)},
       {"documents", [&](const YamlValue& v) { corpus.documents = v.integer(1, INT64_MAX); }},
       {"min_tokens", [&](const YamlValue& v) { corpus.min_tokens = v.integer(1, kMostTokens); }},
       {"field", [&](const YamlValue& v) { corpus.field = v.text(); }},
       {"id", [&](const YamlValue& v) { corpus.id = v.text(); }},
       {"chunk", [&](const YamlValue& v) { corpus.chunk = v.flag(); }}});
  if (corpus.path.empty() == dataset.id.empty()) {
    value.fail("needs either path: FILE or dataset: org/name");
  }
  if (!dataset.id.empty()) {
    corpus.dataset = dataset;
  } else if (!only_of_datasets.empty()) {
    value.fail(fmt::format("{} needs dataset: org/name; remove it for a path", only_of_datasets));
  }
}

}  // namespace ropewalk
