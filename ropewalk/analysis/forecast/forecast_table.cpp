#include "ropewalk/analysis/forecast/forecast_table.h"

#include <fmt/format.h>

#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/table/qk_table.h"

namespace ropewalk {
namespace {

constexpr const char* kWhose = "model,checkpoint,phase,order,setting";
constexpr int64_t kFewDocuments = 8;  // the same limit as for the blocks of a capture

std::string whose(const Forecast& forecast, const SettingForecast& setting) {
  return fmt::format("{},{},{},{},{}", csv_name(forecast.model), csv_name(forecast.label),
                     csv_name(forecast.phase), forecast.order, csv_name(setting.spec.text));
}

void add_flag(std::string& flags, const char* flag) {
  flags += (flags.empty() ? "" : ";") + std::string(flag);
}

std::string flags_of(const Forecast& forecast) {
  std::string flags;
  if (forecast.random) add_flag(flags, kRandomWeights);
  if (forecast.block_tokens.empty()) add_flag(flags, "no_se");
  if (!forecast.block_tokens.empty() && forecast.block_tokens.size() < kFewBlocks) {
    add_flag(flags, "few_blocks");
  }
  if (forecast.by_length) add_flag(flags, "by_length");
  return flags;
}

std::string number(const Estimate& estimate) {
  return table_number(estimate.value) + "," + table_number(estimate.se);
}

std::string lengths(const Forecast& forecast) {
  return fmt::format("{},{}", forecast.trained.tokens, forecast.context);
}

// The numbers that heads and settings have.
template <typename Row>
std::string numbers(const Row& row) {
  return number(row.score) + "," + number(row.disturbance) + "," + number(row.excursion) + "," +
         number(row.shift);
}

std::string head_row(const Forecast& forecast, const SettingForecast& setting, size_t i) {
  const ForecastHead& id = forecast.heads[i];
  const HeadForecast& head = setting.heads[i];
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},,{},{}\n", whose(forecast, setting),
                     id.layer, id.q_head, id.kv_head, lengths(forecast), numbers(head),
                     table_number(head.moved), table_number(head.moved_low),
                     table_number(head.moved_high), head.preferred,
                     head.preferred_then ? std::to_string(*head.preferred_then) : "",
                     forecast.breaks(head) ? 1 : 0, flags_of(forecast));
}

std::string loss_flags(const Forecast& forecast, const ForecastLosses& losses) {
  std::string flags;
  if (forecast.random) add_flag(flags, kRandomWeights);
  if (losses.documents.count() < 2) add_flag(flags, "no_se");
  if (losses.documents.count() < kFewDocuments) add_flag(flags, "few_documents");
  return flags;
}

}  // namespace

std::string format_forecast(const Forecast& forecast) {
  std::string text =
      kWhose +
      std::string(
          ",layer,q_head,kv_head,trained,context,score,score_se,disturbance,disturbance_se,"
          "excursion,excursion_se,shift,shift_se,moved,moved_low,moved_high,preferred,"
          "preferred_then,heads,breaks,flag\n");
  for (const SettingForecast& setting : forecast.settings) {
    text += fmt::format("{},,,,{},{},,,,,,{},{},{}\n", whose(forecast, setting), lengths(forecast),
                        numbers(setting), forecast.heads.size(), forecast.breaking(setting),
                        flags_of(forecast));
  }
  for (const SettingForecast& setting : forecast.settings) {
    for (size_t i = 0; i < forecast.heads.size(); ++i) text += head_row(forecast, setting, i);
  }
  return text;
}

std::string format_forecast_losses(const Forecast& forecast, const ForecastLosses& losses) {
  std::string text = kWhose + std::string(",position,position_end,loss,loss_se,tokens,flag\n");
  const std::string flags = loss_flags(forecast, losses);
  for (size_t i = 0; i < forecast.settings.size(); ++i) {
    const auto row = [&](const std::string& positions, const SettingLoss& loss) {
      if (loss.tokens == 0) return;
      text += fmt::format("{},{},{},{},{},{}\n", whose(forecast, forecast.settings[i]), positions,
                          table_number(loss.loss), table_number(loss.se), loss.tokens, flags);
    };
    row(",", setting_loss(losses, i, {0, forecast.context - 1}));
    for (const PositionRange& bin : position_bins(forecast.context)) {
      row(fmt::format("{},{}", bin.begin, bin.end), setting_loss(losses, i, bin));
    }
  }
  return text;
}

std::string format_forecast_documents(const Forecast& forecast, const ForecastLosses& losses) {
  std::string text = kWhose + std::string(",document,group,digest,position,position_end,loss\n");
  for (size_t i = 0; i < forecast.settings.size(); ++i) {
    for (size_t d = 0; d < losses.records.size(); ++d) {
      const at::Tensor own = losses.sums[i][static_cast<int64_t>(d)].contiguous();
      const double* data = own.const_data_ptr<double>();
      for (const PositionRange& bin : position_bins(losses.documents.tokens[d])) {
        const int64_t tokens = bin.end - bin.begin;
        text += fmt::format("{},{},{},{:016x},{},{},{}\n", whose(forecast, forecast.settings[i]),
                            losses.records[d].index, losses.documents.groups[d],
                            losses.records[d].digest, bin.begin, bin.end,
                            table_number(*data++ / static_cast<double>(tokens)));
      }
    }
  }
  return text;
}

std::string format_forecast_check(const Forecast& forecast, const std::vector<RankCheck>& checks) {
  std::string text =
      "model,checkpoint,phase,order,positions,position,position_end,ranked_by,settings,rho,rho_low,"
      "rho_high,first,first_loss,first_loss_se,best,best_loss,best_loss_se,excess,excess_se,"
      "tokens\n";
  for (const RankCheck& check : checks) {
    const auto loss = [](const SettingLoss& one) {
      return table_number(one.loss) + "," + table_number(one.se);
    };
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_name(forecast.model),
        csv_name(forecast.label), csv_name(forecast.phase), forecast.order, check.range.name,
        check.range.range.begin, check.range.range.end, check.ranked_by, forecast.settings.size(),
        table_number(check.rho), table_number(check.rho_low), table_number(check.rho_high),
        csv_name(forecast.settings[check.first].spec.text), loss(check.first_loss),
        csv_name(forecast.settings[check.best].spec.text), loss(check.best_loss),
        table_number(check.excess), table_number(check.excess_se), check.first_loss.tokens);
  }
  return text;
}

}  // namespace ropewalk
