// An edit of one's own: what if two heads of a checkpoint preferred near tokens by a tenth of a
// logit per token more? Prints what that costs: edit_heads MODEL TOKENS.jsonl
#include <cstdio>

#include "ropewalk/study/ablation/edited_loss.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: edit_heads MODEL TOKENS.jsonl\n"), 2;
  constexpr int64_t kContext = 64;
  ropewalk::ModelOptions options;
  options.model = argv[1];
  options.context = kContext;
  options.dtype = "float32";
  options.head = true;  // through to the logits
  const ropewalk::OpenModel model = ropewalk::open_model(options);
  const ropewalk::WeightReader weights = model.weights();
  ropewalk::DocumentOptions text;
  text.context = kContext;
  text.vocabulary_size = static_cast<int32_t>(model.known_words());
  const auto documents = ropewalk::read_documents(argv[2], {}, std::nullopt, text);

  // What is taken away from the logits, by distance; here its negative is added.
  ropewalk::DistanceBias bias;
  for (const ropewalk::LayerHead head : {ropewalk::LayerHead{0, 1}, ropewalk::LayerHead{2, 3}}) {
    bias.logits[head] = 0.1 * at::arange(kContext, at::kDouble);
  }
  const ropewalk::Edit edit{"nearer", {{0, {1}}, {2, {3}}}, ropewalk::ScoreEdit(bias)};

  const ropewalk::LossPass pass{model, weights, documents.documents};
  const at::Tensor before = ropewalk::measure_unedited(pass, /*outputs=*/false).loss;
  const double tokens = static_cast<double>(documents.documents.size() * (kContext - 1));
  ropewalk::measure_edits(pass, {&edit, 1}, [&](size_t, const ropewalk::EditedLoss& after) {
    std::printf("%.6f → %.6f nats per token\n", before.sum().item<double>() / tokens,
                after.loss.sum().item<double>() / tokens);
  });
}
