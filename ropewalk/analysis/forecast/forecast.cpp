#include "ropewalk/analysis/forecast/forecast.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "ropewalk/analysis/analyze/analyze_capture.h"
#include "ropewalk/analysis/analyze/capture_facts.h"
#include "ropewalk/analysis/forecast/centre_logits.h"
#include "ropewalk/analysis/math/student_t.h"
#include "ropewalk/analysis/replicates/document_lengths.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/units.h"

namespace ropewalk {
namespace {

SettingForecast join(const RopeSpec& spec, std::vector<HeadForecast> heads,
                     std::span<const double> sizes) {
  const auto mean = [&](Estimate HeadForecast::*number) {
    std::vector<Estimate> all;
    for (const HeadForecast& head : heads) all.push_back(head.*number);
    return mean_estimate(all, sizes);
  };
  SettingForecast made;
  made.spec = spec;
  made.score = mean(&HeadForecast::score);
  made.disturbance = mean(&HeadForecast::disturbance);
  made.excursion = mean(&HeadForecast::excursion);
  made.shift = mean(&HeadForecast::shift);
  made.heads = std::move(heads);
  return made;
}

// How many cores work, each of which holds some curves of a head.
int64_t working_cores(int64_t context, int64_t cases, int64_t memory) {
  constexpr int64_t kCurves = 6, kBytes = 8;
  const int64_t bytes = kCurves * kBytes * cases * context;
  if (bytes > memory) {
    throw UsageError(Field{"context"},
                     ": {} tokens need {} for one head, but {} are free; expected a context that "
                     "fits",
                     context, format_bytes(bytes), format_bytes(memory));
  }
  return std::clamp<int64_t>(memory / bytes, 1, at::get_num_threads());
}

}  // namespace

double Forecast::interval() const {
  return student_t_95(static_cast<double>(block_tokens.size()) - 1);
}

bool Forecast::breaks(const HeadForecast& head) const {
  return head.excursion.value > 0 &&
         head.excursion.value - interval() * head.excursion.se > 0;  // false without an error
}

int64_t Forecast::breaking(const SettingForecast& setting) const {
  return std::count_if(setting.heads.begin(), setting.heads.end(),
                       [&](const HeadForecast& head) { return breaks(head); });
}

std::vector<size_t> Forecast::ranked() const {
  std::vector<size_t> ranks(settings.size());
  std::iota(ranks.begin(), ranks.end(), size_t{0});
  std::stable_sort(ranks.begin(), ranks.end(), [&](size_t a, size_t b) {
    return settings[a].score.value < settings[b].score.value;
  });
  return ranks;
}

void require_forecast_context(int64_t context, const TrainedContext& trained) {
  if (context > kLongestDocument) {
    throw UsageError(Field{"context"}, ": found {} tokens, expected at most {}", context,
                     kLongestDocument);
  }
  if (trained.tokens <= context) return;
  throw UsageError(Field{"context"},
                   ": found {} tokens, expected at least the {} that the model was trained at ({})",
                   context, trained.tokens, trained.from);
}

Forecast forecast_settings(const CaptureMoments& capture, const std::string& source,
                           const std::vector<RopeSpec>& specs, const TrainedContext& trained,
                           int64_t context, int64_t memory) {
  require_forecast_context(context, trained);
  const CaptureFacts facts = capture_facts(capture.info, source);
  const CentreLogits logits(capture, facts, source, {trained.tokens, context});
  std::vector<CentreLogits::Setting> settings;
  for (const RopeSpec& spec : specs) settings.push_back(logits.setting(spec));
  Forecast made;
  made.model = facts.model;
  made.label = facts.label;
  made.random = facts.random;
  made.by_length = logits.by_length();
  made.trained = trained;
  made.context = context;
  made.heads = logits.heads();
  made.block_tokens = logits.block_tokens();
  std::vector<std::vector<HeadForecast>> found(specs.size(),
                                               std::vector<HeadForecast>(made.heads.size()));
  const auto cases = static_cast<int64_t>(made.block_tokens.size()) + 1;
  std::atomic<size_t> next = 0;
  at::parallel_for(0, working_cores(context, cases, memory), 1, [&](int64_t, int64_t) {
    const c10::InferenceMode no_autograd;
    for (size_t i = next++; i < made.heads.size(); i = next++) {
      const CentreLogits::Head head = logits.head(made.heads[i]);
      const TrainedLogits known(head.own, head.trained, made.block_tokens);
      for (size_t s = 0; s < settings.size(); ++s) {
        throw_if_interrupted();
        found[s][i] = known.compare(logits.under(settings[s], head));
      }
    }
  });
  for (size_t s = 0; s < specs.size(); ++s) {
    made.settings.push_back(join(specs[s], std::move(found[s]), made.block_tokens));
  }
  return made;
}

}  // namespace ropewalk
