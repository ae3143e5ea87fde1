// Only for tests: prints each entry of a corpus as a JSON line, or the error with which reading
// ends.
// corpus_tool PATH [FIELD [ID]]
#include <iostream>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/text/corpus.h"

namespace {

using ropewalk::Json;

template <typename Variant>
Json to_json(const Variant& value) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

void print_corpus(int count, char** arguments) {
  ropewalk::CorpusOptions options;
  if (count > 2) options.field = arguments[2];
  if (count > 3) options.id = arguments[3];
  const auto corpus = ropewalk::open_corpus(arguments[1], options);
  while (const auto entry = corpus->next()) {
    std::cout << Json{{"content", to_json(entry->content)},
                      {"id", to_json(entry->id)},
                      {"where", entry->where}}
                     .dump()
              << '\n';
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    print_corpus(count, arguments);
  } catch (const ropewalk::InputError& error) {
    std::cout << Json{{"input_error", error.what()}}.dump() << '\n';
  } catch (const ropewalk::SystemError& error) {
    std::cout << Json{{"system_error", error.what()}}.dump() << '\n';
  } catch (const ropewalk::UsageError& error) {
    std::cout << Json{{"usage_error", error.what()}}.dump() << '\n';
  }
}
