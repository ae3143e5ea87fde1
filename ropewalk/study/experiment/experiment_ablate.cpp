#include "ropewalk/study/experiment/experiment_ablate.h"

#include "ropewalk/base/error.h"
#include "ropewalk/study/experiment/yaml_map.h"

namespace ropewalk {
namespace {

// Reads one value or a list of values, each with the parser of the command line.
template <typename Name>
std::vector<Name> read_names(const YamlValue& value, Name (*parse)(const std::string&)) {
  std::vector<Name> names;
  const std::vector<YamlValue> given = value.is_list() ? value.list() : std::vector{value};
  for (const YamlValue& one : given) {
    try {
      names.push_back(parse(one.text()));
    } catch (const UsageError& error) {
      // The line in the file replaces the name of the field.
      const std::string text = error.what();
      one.fail(text.substr(std::min(text.size(), error.field().size() + 1)));
    }
  }
  if (names.empty()) value.fail("the list is empty; expected at least one");
  return names;
}

}  // namespace

Json Experiment::Ablate::to_json() const {
  Json json{{"sets", Json::array()},
            {"edits", Json::array()},
            {"documents", documents},
            {"controls", controls}};
  for (const SetName& set : sets) json["sets"].push_back(set.text);
  for (const EditName& edit : edits) json["edits"].push_back(edit.text);
  return json;
}

void read_ablate(const YamlValue& value, Experiment& experiment) {
  Experiment::Ablate ablate;
  ablate.line = value.line();
  value.map(
      {{"sets", [&](const YamlValue& v) { ablate.sets = read_names(v, parse_set_name); }, true},
       {"edits", [&](const YamlValue& v) { ablate.edits = read_names(v, parse_edit_name); }, true},
       {"documents", [&](const YamlValue& v) { ablate.documents = v.integer(1, INT64_MAX); }},
       {"controls", [&](const YamlValue& v) { ablate.controls = v.integer(0, 10000); }}});
  experiment.ablate = ablate;
}

void check_ablate(const Experiment& experiment) {
  if (!experiment.ablate) return;
  const Experiment::Ablate& ablate = *experiment.ablate;
  const std::string line = experiment.at(ablate.line);
  if (experiment.uses_captured_vectors()) {
    throw InputError("{}: ablate: needs checkpoints with weights; those here are captured vectors",
                     line);
  }
  if (!experiment.corpus.documents) {
    throw InputError(
        "{}: ablate: uses the corpus's entries after the measured ones; say how many are measured "
        "with corpus: {{documents: N}}",
        line);
  }
  for (const EditName& edit : ablate.edits) {
    if (edit.needs_sums() && !experiment.keep.pre_rope) {
      throw InputError("{}: ablate: the edit '{}' needs pre_rope: true", line, edit.text);
    }
    if (edit.needs_others() && ablate.documents < 2) {
      throw InputError(
          "{}: ablate: the edit '{}' needs the mean over other documents; expected documents: 2 or "
          "more",
          line, edit.text);
    }
  }
}

}  // namespace ropewalk
