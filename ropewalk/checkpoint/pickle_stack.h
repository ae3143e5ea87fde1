#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"

namespace ropewalk {

// The kinds of values that a pickle's instructions can make.
enum class PickleKind : uint8_t {
  none,
  number,
  text,
  tuple,
  list,        // its items are not kept
  dictionary,  // `number` is an index of the dictionaries
  other,       // `number` and `text` belong to the caller
};

struct PickleValue {
  PickleKind kind = PickleKind::none;
  int64_t number = 0;     // of a tuple: the index of its first item
  std::string_view text;  // a part of the pickle
  uint32_t size = 0;      // items of a tuple; what kind of `other`
};

// The bytes of a pickle, the values made so far, and the stack of values. Values refer to each
// other by number, so nothing recurses, however deep they nest; time and memory are linear in the
// size of the pickle. Throws InputError naming `source`.
class PickleStack {
 public:
  using Ref = uint32_t;
  using Dictionary = std::vector<std::pair<Ref, Ref>>;

  PickleStack(std::string_view pickle, const std::string& source)
      : pickle_(pickle), source_(source) {}

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    throw InputError("{}: {}", source_, fmt::format(text, std::forward<Args>(args)...));
  }

  // Takes the next bytes.
  std::string_view take(size_t size);
  template <typename T>
  T take_number() {
    T number = 0;
    std::memcpy(&number, take(sizeof(T)).data(), sizeof(T));
    return number;
  }
  std::string_view take_line();
  // Takes a length of one byte and a little-endian number of that many bytes.
  int64_t take_long();

  const PickleValue& value(Ref ref) const { return values_[ref]; }
  const Dictionary& dictionary(Ref ref) const {
    return dictionaries_[static_cast<size_t>(value(ref).number)];
  }
  // The items of a tuple; throws where there are more than `most` or the value is not a tuple.
  std::vector<PickleValue> tuple_items(const PickleValue& tuple, size_t most,
                                       const char* what) const;

  void push(const PickleValue& made);
  void push_number(int64_t number) { push({PickleKind::number, number, {}, 0}); }
  void push_tuple(const std::vector<Ref>& items);
  void push_tuple_of(size_t count);  // takes that many values from the stack
  void push_dictionary();
  Ref pop();
  Ref top();
  bool empty() const { return stack_.empty(); }
  void mark() { marks_.push_back(stack_.size()); }
  std::vector<Ref> pop_to_mark();
  void remember(uint32_t slot) { memo_[slot] = top(); }
  void recall(uint32_t slot);
  // Adds pairs of key and value to the dictionary on top of the stack.
  void set_items(const std::vector<Ref>& items);

 private:
  std::string_view pickle_;
  const std::string& source_;
  size_t at_ = 0;
  std::vector<PickleValue> values_;
  std::vector<Ref> items_;  // items of all tuples, one tuple after another
  std::vector<Dictionary> dictionaries_;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::unordered_map<uint32_t, Ref> memo_;
};

}  // namespace ropewalk
