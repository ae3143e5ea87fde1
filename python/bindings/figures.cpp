#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>

#include "python/bindings/bindings.h"
#include "python/bindings/job.h"
#include "ropewalk/figures/render.h"
#include "ropewalk/study/show/report.h"
#include "ropewalk/study/show/table_figures.h"

namespace ropewalk::python {
namespace {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;  // names and specifications

NamedTexts figures(nb::handle listener, const std::string& table, const RequestedFigures& more) {
  NamedTexts made;
  run_job(listener, [&] {
    for (const Figure& figure : table_figures(table, more).figures) {
      made.emplace_back(figure.name, figure.spec.dump());
    }
  });
  return made;
}

void render(nb::handle listener, const std::string& name, const std::string& spec,
            const std::string& folder, const std::string& format) {
  run_job(listener, [&] { write_figures({{name, parse_json(spec, name)}}, folder, {format}); });
}

void report(nb::handle listener, const std::string& table, const std::string& out) {
  run_job(listener, [&] { write_report(ReportOptions{table, out}); });
}

}  // namespace

void bind_figures(nb::module_& module) {
  module.def("figures", [](nb::handle listener, const std::string& table,
                           const std::vector<std::string>& statistics,
                           const std::vector<PortraitPair>& portraits) {
    return figures(listener, table, {statistics, portraits, {}});
  });
  module.def("figure_names", [](const std::string& key) {
    return std::make_pair(over_training_name(key), by_depth_name(key));
  });
  module.def("portrait_name", [](const std::string& x, const std::string& y) {
    return portrait_name({x, y});
  });
  module.def("render", render);
  module.def("write_report", report);
}

}  // namespace ropewalk::python
