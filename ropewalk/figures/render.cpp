#include "ropewalk/figures/render.h"

#include <algorithm>
#include <cstdlib>

#include "ropewalk/base/atomic_file.h"
#include "ropewalk/base/child_process.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/figures/render_program.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kVegaLiteMajor = "6";  // as in theme::kSchema
constexpr int kNoRenderer = 3;                    // exit code of render_program.py

std::string python() {
  if (const char* chosen = std::getenv("ROPEWALK_PYTHON"); chosen != nullptr && *chosen != '\0') {
    return chosen;
  }
  std::error_code ignored;
  if (fs::exists(kBuildPython, ignored)) return std::string(kBuildPython);
  return "python3";
}

// The last line says what went wrong; those before it are a stack trace.
std::string last_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const size_t start = text.rfind('\n');
  return printable_excerpt(start == std::string_view::npos ? text : text.substr(start + 1), 400);
}

std::string render(const std::vector<Figure>& figures, const std::vector<std::string>& formats) {
  Json job{{"formats", formats}, {"vega_lite", kVegaLiteMajor}, {"figures", Json::object()}};
  for (const Figure& figure : figures) job["figures"][figure.name] = figure.spec;
  const std::string input = job.dump();
  const std::string interpreter = python();
  const std::string advice =
      "install it with `python -m pip install vl-convert-python`, or name a Python that has it in "
      "ROPEWALK_PYTHON; specifications (.json) need none";
  ChildResult result;
  try {
    result = run_child({interpreter, {"-c", std::string(kRenderProgram)}, input});
  } catch (const SystemError& error) {
    throw SystemError("{}; png, svg and pdf need a Python with vl-convert: {}", error.what(),
                      advice);
  }
  if (result.exit_code == kNoRenderer) {
    throw SystemError("png, svg and pdf need vl-convert, which {} lacks; {}", interpreter, advice);
  }
  if (result.exit_code != 0) {
    throw SystemError("{}: rendering failed with exit code {}: {}", interpreter, result.exit_code,
                      last_line(result.errors));
  }
  return std::move(result.output);
}

// Takes one file off the front of the renderer's output and writes it.
void write_next(std::string_view& output, const fs::path& folder) {
  const size_t end = output.find('\n');
  const Json header = parse_json(output.substr(0, end), "the renderer's output");
  const auto size = header.at("bytes").get<size_t>();
  if (end == std::string_view::npos || output.size() - end - 1 < size) {
    throw SystemError("the renderer's output ends early");
  }
  const std::string name =
      header.at("figure").get<std::string>() + "." + header.at("format").get<std::string>();
  write_file_atomically(folder / name, output.substr(end + 1, size));
  output.remove_prefix(end + 1 + size);
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
  const std::string rendered = render(figures, formats);
  std::string_view output = rendered;
  while (!output.empty()) write_next(output, folder);
}

}  // namespace ropewalk
