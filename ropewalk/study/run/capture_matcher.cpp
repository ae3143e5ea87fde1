#include "ropewalk/study/run/capture_matcher.h"

#include <fmt/format.h>

#include "ropewalk/moments/describe_difference.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/capture/capture_vectors.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace {

// The properties that decide the second moments. Weights are compared last, when all else agrees;
// ids belong to the documents.
Json second_moment_identity(Json identity) {
  identity.erase("weights");
  identity.erase("kept");
  if (identity.contains("vectors") && identity["vectors"].is_object()) {
    identity["vectors"].erase("ids");
  }
  return identity;
}

std::string ids_of(const CaptureInfo& info) { return info.vectors ? info.vectors->ids : ""; }

// For a Hub checkpoint the config is enough: its weights may not be downloaded.
std::optional<OpenModel> open_planned(const PlannedCheckpoint& planned) {
  if (planned.vectors) return std::nullopt;
  const ModelOptions& options = planned.capture.model;
  return options.hub ? open_without_weights(options) : open_model(options);
}

}  // namespace

CaptureMatcher::CaptureMatcher(const Study& study, const PlannedCheckpoint& planned)
    : CaptureMatcher(study, planned, open_planned(planned)) {}

CaptureMatcher::CaptureMatcher(const Study& study, const PlannedCheckpoint& planned,
                               const std::optional<OpenModel>& model)
    : planned_(planned),
      named_(study.experiment.named),
      chunked_(study.experiment.corpus.chunk),
      documents_(
          study.documents_for(planned, model ? model->context : planned.vectors->info.context)),
      info_(model ? describe_capture(planned.capture, *model, documents_) : planned.vectors->info),
      identity_(second_moment_identity(info_.identity())) {}

CaptureMatcher::CaptureMatcher(const PlannedCheckpoint& planned, const DocumentSet& documents,
                               CaptureInfo info)
    : planned_(planned),
      chunked_(false),
      documents_(documents),
      info_(std::move(info)),
      identity_(second_moment_identity(info_.identity())) {}

bool CaptureMatcher::same_measure(const CaptureInfo& other) {
  return second_moment_identity(other.identity()) == identity_ && same_weights(other);
}

std::set<std::string> CaptureMatcher::missing(const CaptureInfo& other) const {
  std::set<std::string> names;
  for (const auto& [name, record] : info_.accumulators) {
    if (find_keep_option(name) != nullptr && !named_.contains(name)) continue;
    const auto found = other.accumulators.find(name);
    if (found == other.accumulators.end() || found->second != record) names.insert(name);
  }
  return names;
}

bool CaptureMatcher::same_documents(const CaptureInfo& other) const {
  if (planned_.vectors) return true;  // which are compared through their vectors
  return other.corpus == info_.corpus && ids_of(other) == ids_of(info_);
}

bool CaptureMatcher::begins_with(const CaptureInfo& other) const {
  if (other.documents >= info_.documents) return false;
  const auto first = std::span(documents_.documents).first(static_cast<size_t>(other.documents));
  return documents_digest(make_records(first)) == other.corpus &&
         (!other.vectors || ids_of(other) == ids_digest(first));
}

std::string CaptureMatcher::why_not_extended() const {
  if (info_.vectors) return "vectors cannot be added to";
  if (chunked_) return "the block of a piece depends on the length of its text";
  return {};
}

bool CaptureMatcher::can_resume(const StateInfo& state, int64_t before) {
  const auto& documents = documents_.documents;
  const auto count = static_cast<int64_t>(state.digests.size());
  if (before + count > static_cast<int64_t>(documents.size())) return false;
  const bool same = std::equal(
      state.digests.begin(), state.digests.end(), documents.begin() + before,
      [](uint64_t digest, const Document& document) { return digest == document.digest; });
  const Json weights = state.identity.value("weights", Json());
  if (!same || !weights.is_string()) return false;
  CaptureInfo other;
  other.weights = weights.get<std::string>();
  return second_moment_identity(state.identity) == identity_ &&
         state.identity.value("kept", Json::object()) == keep_json(info_.accumulators) &&
         same_weights(other);
}

std::string CaptureMatcher::difference(const CaptureInfo& other) {
  Json before = second_moment_identity(other.identity());
  Json now = identity_;
  // Where documents differ, how texts are cut into pieces says nothing more.
  if (other.documents != info_.documents) before["pieces"] = now["pieces"] = 0;
  if (before == now && !same_weights(other)) {
    if (planned_.vectors) return "the vectors changed";
    now["weights"] = "others";
  }
  std::string text = describe_difference(before, now);
  if (same_documents(other)) return text;
  const bool alone = text.empty();
  const bool comparable = other.context == info_.context;  // otherwise every document differs
  const bool fewer = other.documents < info_.documents;
  if (other.documents == info_.documents && !comparable) return text;
  if (!alone) text += ", ";
  if (other.documents == info_.documents) {
    return text + (other.corpus == info_.corpus ? "other document ids" : "other documents");
  }
  text += fmt::format("documents: {} → {}", other.documents, info_.documents);
  if (!fewer) return text + ", which cannot be computed from sums over all documents";
  if (comparable && !begins_with(other)) return text + ", others";
  const std::string why_not = why_not_extended();
  return alone && !why_not.empty() ? fmt::format("{}, and {}", text, why_not) : text;
}

bool CaptureMatcher::same_weights(const CaptureInfo& other) {
  const ModelOptions& options = planned_.capture.model;
  if (planned_.vectors) return other.weights == info_.weights;
  if (options.random) return other.weights == fmt::format("random:{}", *options.random);
  if (options.hub && !has_weights(shared_hub(), *options.hub)) {
    if (other.hub == options.hub->name()) return true;
    if (!stated_) stated_ = stated_weights(shared_hub(), *options.hub);
    return !stated_->empty() && other.stated_weights == *stated_;
  }
  if (!digest_) {
    digest_ = open_model(options).weights_digest();
  }
  return other.weights == *digest_;
}

}  // namespace ropewalk
