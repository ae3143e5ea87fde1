// Test-only: what edits cost a model.
//   edit_tool MODEL CORPUS CONTEXT DEVICE DTYPE < a JSON list of edits
// prints, as one JSON object, the sums of nats by document and bin without an edit ("unedited") and
// of each edit ("edits": loss and kl), or the error it ends with. Driven by test_edits.py, which
// compares them with transformers', and by test_gpu.py.
#include <iostream>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/study/ablation/edited_loss.h"

namespace {

using namespace ropewalk;

at::Tensor vector_of(const Json& numbers) {
  return at::tensor(numbers.get<std::vector<double>>(), at::kDouble);
}

// Reads {"3.1": …}, where 3.1 is head 1 of layer 3.
template <typename Read>
auto by_head(const Json& settings, const Read& read) {
  std::map<LayerHead, decltype(read(settings))> found;
  for (const auto& [name, value] : settings.items()) {
    const size_t dot = name.find('.');
    found[{std::stoll(name.substr(0, dot)), std::stoll(name.substr(dot + 1))}] = read(value);
  }
  return found;
}

RemovedAxis::AxisAndMeans axis_of(const Json& one) {
  return {vector_of(one.at("axis")), vector_of(one.at("mean_q")), vector_of(one.at("mean_k"))};
}

Edit read_edit(const Json& settings, const std::shared_ptr<const HeadOutputs>& outputs) {
  Edit edit{.name = settings.at("name"), .heads = {}, .what = OutputEdit()};
  for (const Json& head : settings.at("heads")) {
    edit.heads[head[0].get<int64_t>()].push_back(head[1].get<int64_t>());
  }
  const std::string kind = settings.at("kind");
  if (kind == "distance") {
    edit.what = ScoreEdit(DistanceBias{by_head(settings.at("logits"), vector_of),
                                       settings.at("keep_mass").get<bool>()});
  } else if (kind == "window") {
    edit.what = ScoreEdit(Window{settings.at("tokens").get<int64_t>()});
  } else if (kind == "still") {
    edit.what = VectorEdit(StillPairs{settings.at("cut").get<double>()});
  } else if (kind == "zero-band") {
    edit.what = VectorEdit(ZeroedPairs{settings.at("cut").get<double>()});
  } else if (kind == "flatten") {
    edit.what = VectorEdit(FlattenedDrift{by_head(settings.at("q"), vector_of),
                                          by_head(settings.at("k"), vector_of),
                                          settings.at("mean_position").get<double>()});
  } else if (kind == "axis") {
    edit.what = VectorEdit(RemovedAxis{by_head(settings.at("axes"), axis_of)});
  } else if (kind == "head") {
    edit.what = OutputEdit{outputs};
  }
  return edit;
}

Json rows_of(const at::Tensor& table) {
  Json rows = Json::array();
  for (const at::Tensor& row : table.unbind(0)) {
    rows.push_back(std::vector<double>(row.const_data_ptr<double>(),
                                       row.const_data_ptr<double>() + row.numel()));
  }
  return rows;
}

Json measure(const std::string& corpus, ModelOptions options) {
  options.sliding = true;
  options.head = true;
  const OpenModel model = open_model(options);
  const WeightReader weights = model.weights();
  DocumentOptions which;
  which.context = model.context;
  which.min_tokens = 1;
  which.vocabulary_size = static_cast<int32_t>(model.known_words());
  const DocumentSet documents = read_documents(corpus, {}, std::nullopt, which);
  const LossPass pass{model, weights, documents.documents};
  const UneditedLoss unedited = measure_unedited(pass, /*outputs=*/true);
  std::string line;
  std::getline(std::cin, line);
  std::vector<Edit> edits;
  for (const Json& settings : parse_json(line, "edits")) {
    edits.push_back(read_edit(settings, unedited.outputs));
  }
  std::vector<Json> losses(edits.size());
  measure_edits(pass, edits, [&](size_t edit, const EditedLoss& loss) {
    losses[edit] = {{"loss", rows_of(loss.loss)}, {"kl", rows_of(loss.kl)}};
  });
  return {{"unedited", rows_of(unedited.loss)}, {"edits", losses}};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) return 2;
  try {
    ModelOptions options;
    options.model = arguments[1];
    options.context = std::stoll(arguments[3]);
    options.device = arguments[4];
    options.dtype = arguments[5];
    std::cout << measure(arguments[2], options).dump() << '\n';
  } catch (const std::exception& error) {
    std::cout << Json{{"error", error.what()}}.dump() << '\n';
  }
}
