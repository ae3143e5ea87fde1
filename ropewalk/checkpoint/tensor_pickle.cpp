#include "ropewalk/checkpoint/tensor_pickle.h"

#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/checkpoint/pickle_stack.h"

namespace ropewalk {
namespace {

constexpr size_t kMostBytes = size_t{8} << 20;  // enough for fifty thousand tensors
constexpr size_t kMostTensors = size_t{1} << 20;
constexpr size_t kMostParts = 16;  // of a tensor's shape, or of a call's arguments

// The kinds of PickleKind::other.
enum Kind : uint32_t {
  kOrderedDictionary,
  kStorageType,  // `text` is its name
  kRebuildTensor,
  kRebuildParameter,
  kStorage,  // `number` is an index of storages
  kTensor,   // `number` is an index of tensors
};

bool is(const PickleValue& value, Kind kind) {
  return value.kind == PickleKind::other && value.size == kind;
}

struct Storage {
  std::string_view type;
  std::string_view file;
  int64_t elements = 0;
};

struct Tensor {
  int64_t storage = 0;
  int64_t offset = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

class Unpickler : private PickleStack {
 public:
  using PickleStack::PickleStack;

  std::vector<PickledTensor> run() {
    while (step()) {
    }
    const Ref result = pop();
    if (!empty() || value(result).kind != PickleKind::dictionary) {
      fail("does not hold a dictionary of tensors");
    }
    return tensors_of(dictionary(result));
  }

 private:
  void push_other(Kind kind, size_t number = 0, std::string_view text = {}) {
    push({PickleKind::other, static_cast<int64_t>(number), text, kind});
  }

  void push_name(std::string_view module, std::string_view name) {
    if (module == "collections" && name == "OrderedDict") {
      push_other(kOrderedDictionary);
    } else if (module == "torch._utils" && name == "_rebuild_tensor_v2") {
      push_other(kRebuildTensor);
    } else if (module == "torch._utils" &&
               (name == "_rebuild_parameter" || name == "_rebuild_parameter_with_state")) {
      push_other(kRebuildParameter);
    } else if (module == "torch" && name.ends_with("Storage")) {
      push_other(kStorageType, 0, name);
    } else {
      constexpr size_t kShown = 60;
      fail(
          "asks for {}.{}, which is not a part of tensors; refused, and nothing was run; convert "
          "the file where you trust it, with transformers' save_pretrained",
          printable_excerpt(module, kShown), printable_excerpt(name, kShown));
    }
  }

  std::vector<int64_t> sizes(const PickleValue& tuple, const char* what) const {
    std::vector<int64_t> numbers;
    for (const PickleValue& item : tuple_items(tuple, kMostParts, what)) {
      if (item.kind != PickleKind::number || item.number < 0) {
        fail("{} has a part that is not a size", what);
      }
      numbers.push_back(item.number);
    }
    return numbers;
  }

  void call() {
    const auto items = tuple_items(value(pop()), kMostParts, "what a call takes");
    const PickleValue function = value(pop());
    if (is(function, kOrderedDictionary) && items.empty()) {
      push_dictionary();
    } else if (is(function, kRebuildParameter) && !items.empty() && is(items[0], kTensor)) {
      push(items[0]);
    } else if (is(function, kRebuildTensor) && items.size() >= 4 && is(items[0], kStorage) &&
               items[1].kind == PickleKind::number && items[1].number >= 0) {
      if (made_.size() == kMostTensors) fail("has more than {} tensors", kMostTensors);
      push_other(kTensor, made_.size());
      made_.push_back({items[0].number, items[1].number, sizes(items[2], "a tensor's size"),
                       sizes(items[3], "a tensor's stride")});
    } else {
      fail("calls something that does not make a tensor; refused");
    }
  }

  // Reads ('storage', type, file, location, elements) from the stack.
  void push_storage() {
    const auto id = tuple_items(value(pop()), kMostParts, "a storage");
    const bool known = id.size() == 5 && id[0].kind == PickleKind::text &&
                       id[0].text == "storage" && is(id[1], kStorageType) &&
                       id[2].kind == PickleKind::text && id[4].kind == PickleKind::number &&
                       id[4].number >= 0;
    if (!known) fail("has a storage that torch.save would not write");
    push_other(kStorage, storages_.size());
    storages_.push_back({id[1].text, id[2].text, id[4].number});
  }

  // Runs one instruction; returns false at the end.
  bool step() {
    const auto code = static_cast<unsigned char>(take(1)[0]);
    if (code == '.') return false;  // STOP
    if (!make_number(code) && !make_value(code) && !use_memo(code) && !fill(code) && !build(code)) {
      fail("has instruction 0x{:02x}, which torch.save does not write for tensors", code);
    }
    return true;
  }

  // These do an instruction of their kind; false: it is none.
  bool make_number(unsigned char code) {
    switch (code) {
      case 0x88:  // NEWTRUE, NEWFALSE
      case 0x89:
        push_number(code == 0x88);
        return true;
      case 'J':  // BININT
        push_number(take_number<int32_t>());
        return true;
      case 'K':  // BININT1
        push_number(take_number<uint8_t>());
        return true;
      case 'M':  // BININT2
        push_number(take_number<uint16_t>());
        return true;
      case 0x8a:  // LONG1
        push_number(take_long());
        return true;
      default:
        return false;
    }
  }

  bool make_value(unsigned char code) {
    switch (code) {
      case '}':  // EMPTY_DICT
        push_dictionary();
        return true;
      case ']':  // EMPTY_LIST
        push({PickleKind::list, 0, {}, 0});
        return true;
      case ')':  // EMPTY_TUPLE
        push_tuple({});
        return true;
      case 't':  // TUPLE
        push_tuple(pop_to_mark());
        return true;
      case 0x85:  // TUPLE1, 2, 3
      case 0x86:
      case 0x87:
        push_tuple_of(code - 0x84U);
        return true;
      case 'N':  // NONE
        push({});
        return true;
      case 'G':  // BINFLOAT
        take(8);
        push({});
        return true;
      case 'X':  // BINUNICODE
        push({PickleKind::text, 0, take(take_number<uint32_t>()), 0});
        return true;
      default:
        return false;
    }
  }

  bool use_memo(unsigned char code) {
    switch (code) {
      case 'q':  // BINPUT, LONG_BINPUT
        remember(take_number<uint8_t>());
        return true;
      case 'r':
        remember(take_number<uint32_t>());
        return true;
      case 'h':  // BINGET, LONG_BINGET
        recall(take_number<uint8_t>());
        return true;
      case 'j':
        recall(take_number<uint32_t>());
        return true;
      default:
        return false;
    }
  }

  // Puts what is on the stack into what lies below it.
  bool fill(unsigned char code) {
    switch (code) {
      case '(':  // MARK
        mark();
        return true;
      case 's': {  // SETITEM
        const Ref item = pop();
        const Ref key = pop();
        set_items({key, item});
        return true;
      }
      case 'u':  // SETITEMS
        set_items(pop_to_mark());
        return true;
      case 'a':  // APPEND, APPENDS
        pop();
        return true;
      case 'e':
        pop_to_mark();
        return true;
      case 'b':  // BUILD: sets attributes of a dictionary, such as the versions of its modules
        pop();
        if (value(top()).kind != PickleKind::dictionary)
          fail("sets attributes of a value that is not a dictionary");
        return true;
      default:
        return false;
    }
  }

  // What pickles name or call, and how they begin.
  bool build(unsigned char code) {
    switch (code) {
      case 0x80:  // PROTO
        if (const auto protocol = take_number<uint8_t>(); protocol > 5) {
          fail("is of protocol {}, expected at most 5", protocol);
        }
        return true;
      case 'c': {  // GLOBAL
        const std::string_view module = take_line();
        push_name(module, take_line());
        return true;
      }
      case 'R':  // REDUCE
        call();
        return true;
      case 'Q':  // BINPERSID
        push_storage();
        return true;
      default:
        return false;
    }
  }

  std::vector<PickledTensor> tensors_of(const Dictionary& dictionary) const {
    std::vector<PickledTensor> tensors;
    std::set<std::string_view> names;
    for (const auto& [key, ref] : dictionary) {
      if (!is(value(ref), kTensor)) continue;
      if (value(key).kind != PickleKind::text) fail("has a tensor whose name is not a string");
      const std::string_view name = value(key).text;
      if (!names.insert(name).second) fail("has tensor '{}' twice", printable(name));
      const Tensor& tensor = made_[static_cast<size_t>(value(ref).number)];
      const Storage& storage = storages_[static_cast<size_t>(tensor.storage)];
      tensors.push_back({std::string(name), std::string(storage.type), std::string(storage.file),
                         storage.elements, tensor.offset, tensor.shape, tensor.strides});
    }
    return tensors;
  }

  std::vector<Storage> storages_;
  std::vector<Tensor> made_;
};

}  // namespace

std::vector<PickledTensor> read_tensor_pickle(std::string_view pickle, const std::string& source) {
  if (pickle.size() > kMostBytes) {
    throw InputError("{}: has {} bytes, expected at most {}", source, pickle.size(), kMostBytes);
  }
  return Unpickler(pickle, source).run();
}

}  // namespace ropewalk
