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

// What a pickle's instructions can make.
enum class PickleKind : uint8_t {
  none,
  number,
  text,
  tuple,
  list,        // what it holds is forgotten
  dictionary,  // `number` into dictionaries
  other,       // `number` and `text` are its maker's
};

struct PickleValue {
  PickleKind kind = PickleKind::none;
  int64_t number = 0;     // of a tuple: its first item
  std::string_view text;  // of the pickle
  uint32_t size = 0;      // items of a tuple; what kind of `other`
};

// The bytes of a pickle, the values made so far, and the stack they are on. Values refer to each
// other by number, so that nothing recurses, however deep they nest; time and memory are linear in
// the pickle. Throws InputError naming `source`.
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

  // Bytes, in order.
  std::string_view take(size_t size);
  template <typename T>
  T take_number() {
    T number = 0;
    std::memcpy(&number, take(sizeof(T)).data(), sizeof(T));
    return number;
  }
  std::string_view take_line();
  // A length in one byte, then as many of a little-endian number.
  int64_t take_long();

  const PickleValue& value(Ref ref) const { return values_[ref]; }
  const Dictionary& dictionary(Ref ref) const {
    return dictionaries_[static_cast<size_t>(value(ref).number)];
  }
  // A tuple's items; more than `most` of them are refused, as is what is no tuple.
  std::vector<PickleValue> tuple_items(const PickleValue& tuple, size_t most,
                                       const char* what) const;

  void push(const PickleValue& made);
  void push_number(int64_t number) { push({PickleKind::number, number, {}, 0}); }
  void push_tuple(const std::vector<Ref>& items);
  void push_tuple_of(size_t count);  // of that many from the stack
  void push_dictionary();
  Ref pop();
  Ref top();
  bool empty() const { return stack_.empty(); }
  void mark() { marks_.push_back(stack_.size()); }
  std::vector<Ref> pop_to_mark();
  void remember(uint32_t slot) { memo_[slot] = top(); }
  void recall(uint32_t slot);
  // Keys and values in turn, of the dictionary on top.
  void set_items(const std::vector<Ref>& items);

 private:
  std::string_view pickle_;
  const std::string& source_;
  size_t at_ = 0;
  std::vector<PickleValue> values_;
  std::vector<Ref> items_;  // of all tuples
  std::vector<Dictionary> dictionaries_;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::unordered_map<uint32_t, Ref> memo_;
};

}  // namespace ropewalk
