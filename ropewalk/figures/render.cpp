#include "ropewalk/figures/render.h"

#include <algorithm>
#include <map>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/companion/companion.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kVegaLiteMajor = "6";  // the version in theme::kSchema

// The contents of the files, by name.
std::map<std::string, std::string> render(const std::vector<Figure>& figures,
                                          const std::vector<std::string>& formats) {
  CompanionMessage job{{{"formats", formats}, {"vega_lite", kVegaLiteMajor}}, {}};
  for (const Figure& figure : figures) job.words["figures"][figure.name] = figure.spec;
  constexpr const char* kAdvice =
      "install it with `python -m pip install vl-convert-python`, or name a Python that has it in "
      "ROPEWALK_PYTHON; specifications (.json) need none";
  try {
    return shared_companion().ask("figures", std::move(job)).arrays;
  } catch (const CompanionFailure& failure) {
    switch (failure.how()) {
      case CompanionFailure::FailureKind::cannot_run:
        throw SystemError("{}; the formats png, svg and pdf need a Python with vl-convert: {}",
                          failure.what(), kAdvice);
      case CompanionFailure::FailureKind::missing:
        throw SystemError("the formats png, svg and pdf need vl-convert: {}; {}", failure.what(),
                          kAdvice);
      default:
        throw SystemError("figures cannot be rendered: {}", failure.what());
    }
  }
}

}  // namespace

void write_figures(const std::vector<Figure>& figures, const fs::path& folder,
                   const std::vector<std::string>& formats) {
  for (const std::string& format : formats) {
    if (std::find(std::begin(kFigureFormats), std::end(kFigureFormats), format) ==
        std::end(kFigureFormats)) {
      throw UsageError("format '{}' is unknown; use png, svg or pdf", format);
    }
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw SystemError("{}: cannot create folder: {}", folder.string(), error.message());
  for (const Figure& figure : figures) {
    write_file_atomically(folder / (figure.name + ".vl.json"), figure.spec.dump(1) + "\n");
  }
  if (formats.empty()) return;
  for (const auto& [name, bytes] : render(figures, formats)) {
    write_file_atomically(folder / name, bytes);
  }
}

}  // namespace ropewalk
