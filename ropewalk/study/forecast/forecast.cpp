#include "ropewalk/study/forecast/forecast.h"

#include <cmath>

#include "ropewalk/analysis/forecast/forecast_table.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/free_memory.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/units.h"
#include "ropewalk/figures/forecast_figure.h"
#include "ropewalk/figures/render.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/capture/capture_folder.h"
#include "ropewalk/study/capture/written_capture.h"
#include "ropewalk/study/forecast/setting_losses.h"
#include "ropewalk/study/show/result_files.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// The losses of a check, and how the forecast ranks them.
struct Checked {
  ForecastLosses losses;
  std::vector<RankCheck> ranks;
};

// Opened and read before anything is computed, which takes long.
struct CheckInputs {
  OpenModel model;
  CapturedDocuments documents;
};

CheckInputs open_check(const ForecastOptions& options, const CaptureInfo& capture,
                       const std::string& source) {
  ModelOptions model = captured_model_options(capture, source, options.model);
  model.context = options.context;
  CheckInputs inputs{open_model(model), {}};
  require_captured_config(inputs.model, capture, source);
  require_captured_weights(inputs.model.weights(), capture, source);
  log::info("{}: running in {}", capture.label, inputs.model.arithmetic());
  inputs.documents = read_for_capture(options.corpus, capture, source, inputs.model);
  return inputs;
}

Checked run_check(const CheckInputs& inputs, const Forecast& forecast) {
  std::vector<RopeSpec> specs;
  for (const SettingForecast& setting : forecast.settings) specs.push_back(setting.spec);
  Checked made;
  made.losses = measure_setting_losses(inputs.model, inputs.documents.set, specs,
                                       {forecast.trained.tokens, forecast.context});
  made.ranks = check_ranks(forecast, made.losses);
  return made;
}

std::string estimate_text(const Estimate& estimate) {
  return fmt::format("{:.4f}{}", estimate.value, format_error(estimate.se, 4));
}

std::string check_text(const Forecast& forecast, const RankCheck& check) {
  if (std::isnan(check.first_loss.loss)) return "";
  const auto name = [&](size_t setting) { return forecast.settings[setting].spec.text; };
  const std::string rho = std::isnan(check.rho)
                              ? "too few settings for a rank correlation"
                              : fmt::format("rank correlation {:.2f} ({:.2f} to {:.2f})", check.rho,
                                            check.rho_low, check.rho_high);
  const std::string words =
      check.ranked_by == std::string("sum") ? "disturbance + excursion" : check.ranked_by;
  return fmt::format(
      "positions {} to {}, ranked by {}: {}; first {} has a loss of {:.4f}, best {} {:.4f} "
      "({:+.1f} %)\n",
      check.range.range.begin, check.range.range.end - 1, words, rho, name(check.first),
      check.first_loss.loss, name(check.best), check.best_loss.loss,
      100 * check.excess / check.best_loss.loss);
}

std::string result_text(const Forecast& forecast, const Checked* checked) {
  std::string text =
      fmt::format("{}: trained at {} tokens ({}); forecast for {}, {} with RoPE\n", forecast.label,
                  forecast.trained.tokens, forecast.trained.from, forecast.context,
                  format_number_of(static_cast<int64_t>(forecast.heads.size()), "head"));
  text += fmt::format("{:<20}  {:>17}  {:>17}  {:>17}  {:>12}{}\n", "setting", "score",
                      "disturbance", "excursion", "heads above", checked ? "    loss" : "");
  for (const size_t index : forecast.ranked()) {
    const SettingForecast& setting = forecast.settings[index];
    text += fmt::format("{:<20}  {:>17}  {:>17}  {:>17}  {:>12}", setting.spec.text,
                        estimate_text(setting.score), estimate_text(setting.disturbance),
                        estimate_text(setting.excursion), forecast.breaking(setting));
    if (checked != nullptr) {
      text += fmt::format("  {:>6.4f}",
                          setting_loss(checked->losses, index, {0, forecast.context - 1}).loss);
    }
    text += "\n";
  }
  if (checked != nullptr) {
    for (const RankCheck& check : checked->ranks) text += check_text(forecast, check);
  }
  return text;
}

void write_results(const Forecast& forecast, const Checked* checked,
                   const ForecastOptions& options) {
  const UninterruptedScope unhurried;
  AtomicFolder folder(options.out);
  const fs::path& out = folder.path();
  std::vector<FileText> tables{{out / kForecastTable, format_forecast(forecast)}};
  if (checked != nullptr) {
    const ForecastLosses& losses = checked->losses;
    tables.push_back({out / kForecastLosses, format_forecast_losses(forecast, losses)});
    tables.push_back({out / kForecastDocuments, format_forecast_documents(forecast, losses)});
    tables.push_back({out / kForecastCheck, format_forecast_check(forecast, checked->ranks)});
  }
  write_files_atomically(tables);
  write_figures(
      {{kForecastFigure, forecast_figure(forecast, checked ? &checked->losses : nullptr)}},
      out / kFigures, options.formats);
  folder.commit();
}

}  // namespace

std::string forecast(const ForecastOptions& options) {
  const std::vector<RopeSpec> specs = parse_rope_specs(options.rope);
  refuse_used_folder(options.out);
  const std::string source = moments_path(options.capture).string();
  const CaptureMoments capture = read_capture(options.capture, Blocks::if_there, Tokens::all);
  const TrainedContext trained = trained_context(options.trained, capture.info.config);
  require_forecast_context(options.context, trained);
  std::optional<CheckInputs> check;
  if (options.check) check.emplace(open_check(options, capture.info, source));
  const Forecast made = forecast_settings(capture, source, specs, trained, options.context,
                                          options.model.memory.value_or(free_memory() / 2));
  if (made.by_length) {
    log::warning(
        "{}: the angles of its model depend on the length of a document; settings that keep its "
        "scaling are forecast with those of the capture's documents",
        source);
  }
  std::optional<Checked> checked;
  if (check) checked = run_check(*check, made);
  write_results(made, checked ? &*checked : nullptr, options);
  return result_text(made, checked ? &*checked : nullptr);
}

}  // namespace ropewalk
