#include "ropewalk/checkpoint/pickle_stack.h"

namespace ropewalk {

std::string_view PickleStack::take(size_t size) {
  if (size > pickle_.size() - at_) fail("ends in the middle");
  const std::string_view taken = pickle_.substr(at_, size);
  at_ += size;
  return taken;
}

std::string_view PickleStack::take_line() {
  const size_t end = pickle_.find('\n', at_);
  if (end == std::string_view::npos) fail("ends in the middle");
  const std::string_view line = take(end - at_);
  take(1);
  return line;
}

int64_t PickleStack::take_long() {
  const auto size = static_cast<size_t>(take_number<uint8_t>());
  if (size > sizeof(int64_t)) fail("has an integer of {} bytes", size);
  const std::string_view bytes = take(size);
  int64_t number = size > 0 && (bytes.back() & 0x80) != 0 ? -1 : 0;
  std::memcpy(&number, bytes.data(), size);
  return number;
}

std::vector<PickleValue> PickleStack::tuple_items(const PickleValue& tuple, size_t most,
                                                  const char* what) const {
  if (tuple.kind != PickleKind::tuple || tuple.size > most) {
    fail("{} is not a tuple of at most {} parts", what, most);
  }
  std::vector<PickleValue> items;
  for (size_t i = 0; i < tuple.size; ++i) {
    items.push_back(value(items_[static_cast<size_t>(tuple.number) + i]));
  }
  return items;
}

void PickleStack::push(const PickleValue& made) {
  values_.push_back(made);
  stack_.push_back(static_cast<Ref>(values_.size() - 1));
}

void PickleStack::push_tuple(const std::vector<Ref>& items) {
  push({PickleKind::tuple,
        static_cast<int64_t>(items_.size()),
        {},
        static_cast<uint32_t>(items.size())});
  items_.insert(items_.end(), items.begin(), items.end());
}

void PickleStack::push_tuple_of(size_t count) {
  std::vector<Ref> items(count);
  for (size_t i = count; i-- > 0;) items[i] = pop();
  push_tuple(items);
}

void PickleStack::push_dictionary() {
  push({PickleKind::dictionary, static_cast<int64_t>(dictionaries_.size()), {}, 0});
  dictionaries_.emplace_back();
}

PickleStack::Ref PickleStack::pop() {
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) fail("takes a value from an empty stack");
  const Ref top = stack_.back();
  stack_.pop_back();
  return top;
}

PickleStack::Ref PickleStack::top() {
  const Ref ref = pop();
  stack_.push_back(ref);
  return ref;
}

std::vector<PickleStack::Ref> PickleStack::pop_to_mark() {
  if (marks_.empty()) fail("lacks a mark that an instruction needs");
  std::vector<Ref> items(stack_.begin() + static_cast<int64_t>(marks_.back()), stack_.end());
  stack_.resize(marks_.back());
  marks_.pop_back();
  return items;
}

void PickleStack::recall(uint32_t slot) {
  const auto found = memo_.find(slot);
  if (found == memo_.end()) fail("reads a memo slot that was never set");
  stack_.push_back(found->second);
}

void PickleStack::set_items(const std::vector<Ref>& items) {
  const PickleValue& target = value(top());
  if (target.kind != PickleKind::dictionary || items.size() % 2 != 0) {
    fail("sets items of a value that is not a dictionary");
  }
  Dictionary& dictionary = dictionaries_[static_cast<size_t>(target.number)];
  for (size_t i = 0; i < items.size(); i += 2) dictionary.emplace_back(items[i], items[i + 1]);
}

}  // namespace ropewalk
