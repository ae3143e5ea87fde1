#include "ropewalk/checkpoint/pytorch_file.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/checkpoint/raw_pytorch.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

using Sizes = std::vector<int64_t>;

class PytorchFileTest : public testing::Test {
 protected:
  // An archive with this pickle and two storages: "0" of 24 bytes, "1" of 8.
  static RawZip archive(const std::string& pickle) {
    RawZip zip;
    zip.entries = {{"archive/data.pkl", pickle},
                   {"archive/byteorder", "little"},
                   {"archive/data/0", std::string(24, 'a')},
                   {"archive/data/1", std::string(8, 'b')}};
    return zip;
  }
  std::map<std::string, StoredTensor> open(const std::string& bytes) {
    return PytorchFile(folder_.write("pytorch_model.bin", bytes)).tensors();
  }
  std::string complaint(const std::string& bytes) {
    try {
      open(bytes);
    } catch (const InputError& error) {
      const std::string path = (folder_.path() / "pytorch_model.bin").string();
      EXPECT_TRUE(std::string(error.what()).starts_with(path + ": ")) << error.what();
      return std::string(error.what()).substr(path.size() + 2);
    }
    return "";
  }
  std::string pickle_complaint(const std::string& pickle) {
    return complaint(archive(pickle).bytes());
  }
  std::string tensor_complaint(const std::string& tensor) {
    return pickle_complaint(pickle::whole({pickle::text("w"), tensor}));
  }
  TemporaryFolder folder_;
};

const std::string kFloats = pickle::storage("FloatStorage", "0", 6);

TEST_F(PytorchFileTest, TensorsViewsAndSharedStorages) {
  const RawZip zip = archive(pickle::whole(
      {pickle::text("whole"), pickle::tensor(kFloats, 0, {2, 3}, {3, 1}), pickle::text("turned"),
       pickle::tensor(kFloats, 0, {3, 2}, {1, 3}), pickle::text("row"),
       pickle::tensor(kFloats, 3, {3}, {1}), pickle::text("half"),
       pickle::tensor(pickle::storage("HalfStorage", "1", 4), 1, {1, 3}, {9, 1}),
       pickle::text("brain"),
       pickle::tensor(pickle::storage("BFloat16Storage", "1", 4), 0, {4}, {1}),
       pickle::text("count"), pickle::tensor(pickle::storage("LongStorage", "1", 1), 0, {}, {}),
       pickle::text("none"), pickle::tensor(kFloats, 6, {0, 5}, {5, 1}), pickle::text("note"),
       pickle::number(7)}));
  for (const bool wide : {false, true}) {
    RawZip same = zip;
    same.wide = wide;
    const std::string bytes = same.bytes();
    const auto tensors = open(bytes);
    ASSERT_EQ(tensors.size(), 7U) << "what is no tensor is left out";
    const StoredTensor& whole = tensors.at("whole");
    EXPECT_EQ(bytes.substr(static_cast<size_t>(whole.offset), 24), std::string(24, 'a'));
    EXPECT_EQ(whole.type, StoredType::f32);
    EXPECT_EQ(whole.shape, (Sizes{2, 3}));
    EXPECT_EQ(whole.strides, Sizes{});
    EXPECT_EQ(whole.bytes, 24);
    EXPECT_EQ(tensors.at("turned").strides, (Sizes{1, 3}));
    EXPECT_EQ(tensors.at("turned").bytes, 24);
    EXPECT_EQ(tensors.at("row").offset, whole.offset + 12);
    EXPECT_EQ(tensors.at("half").type, StoredType::f16);
    EXPECT_EQ(tensors.at("half").strides, Sizes{}) << "of one row any stride will do";
    EXPECT_EQ(tensors.at("half").bytes, 6);
    EXPECT_EQ(tensors.at("brain").type_name, "BF16");
    EXPECT_EQ(tensors.at("count").type, StoredType::other);
    EXPECT_EQ(tensors.at("none").bytes, 0);
  }
}

TEST_F(PytorchFileTest, ParametersAndAttributes) {
  const std::string parameter = pickle::name("torch._utils", "_rebuild_parameter") +
                                pickle::tuple({pickle::tensor(kFloats, 0, {6}, {1}), "\x88", "N"}) +
                                "R";
  const std::string dictionary = pickle::name("collections", "OrderedDict") + ")Rq\x01(" +
                                 pickle::text("w") + parameter + "u}(" + pickle::text("_metadata") +
                                 "h\x01ub";
  const auto tensors = open(archive("\x80\x02" + dictionary + ".").bytes());
  EXPECT_EQ(tensors.at("w").shape, Sizes{6});
}

TEST_F(PytorchFileTest, OtherNamesAreRefusedAndNothingRuns) {
  const auto file = folder_.path() / "ran";
  const std::string call =
      pickle::name("os", "system") + pickle::tuple({pickle::text("touch " + file.string())}) + "R";
  EXPECT_TRUE(
      tensor_complaint(call).starts_with("data.pkl: asks for os.system, which is not a part of"));
  EXPECT_FALSE(std::filesystem::exists(file));
  for (const char* module : {"builtins", "torch", "posix", "collections", "__main__", "\x1b[31m"}) {
    EXPECT_NE(tensor_complaint(pickle::name(module, "eval") + ")R").find("refused"),
              std::string::npos)
        << module;
  }
  // Allowed names, used for something else.
  EXPECT_NE(tensor_complaint(pickle::name("torch", "FloatStorage") + ")R").find("refused"),
            std::string::npos);
  EXPECT_NE(tensor_complaint(pickle::name("collections", "OrderedDict") +
                             pickle::tuple({pickle::number(1)}) + "R")
                .find("refused"),
            std::string::npos);
  for (const std::string code : {"i", "o", "\x81", "\x93", "\x82", "P", "\x95", "\x8c"}) {
    EXPECT_NE(pickle_complaint("\x80\x02" + code + std::string(20, '\n')).find("instruction 0x"),
              std::string::npos)
        << code;
  }
}

TEST_F(PytorchFileTest, SizesThatDoNotFit) {
  const auto refused = [&](const std::string& tensor) { return tensor_complaint(tensor); };
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_NE(refused(pickle::tensor(kFloats, 0, {kHuge, kHuge}, {kHuge, 1})).find("do not go"),
            std::string::npos);
  EXPECT_NE(refused(pickle::tensor(kFloats, 0, {kHuge}, {0})).find("takes"), std::string::npos)
      << "one number, shown a million million times";
  EXPECT_NE(refused(pickle::tensor(kFloats, 0, {2, 3}, {4, 1})).find("reads element"),
            std::string::npos);
  EXPECT_NE(refused(pickle::tensor(kFloats, 1, {6}, {1})).find("reads element"), std::string::npos);
  EXPECT_NE(refused(pickle::tensor(kFloats, INT64_MAX, {1}, {1})).find("reads element"),
            std::string::npos);
  EXPECT_NE(refused(pickle::tensor(kFloats, -1, {1}, {1})).find("refused"), std::string::npos);
  EXPECT_NE(refused(pickle::tensor(kFloats, 0, {2}, {-1})).find("not a size"), std::string::npos);
  EXPECT_NE(refused(pickle::tensor(kFloats, 0, {2, 3}, {1})).find("do not go"), std::string::npos);
  EXPECT_NE(refused(pickle::tensor(kFloats, 0, Sizes(17, 1), Sizes(17, 1))).find("at most 16"),
            std::string::npos);
  for (const int64_t elements : {int64_t{5}, int64_t{7}, INT64_MAX}) {
    const std::string storage = pickle::storage("FloatStorage", "0", elements);
    EXPECT_NE(refused(pickle::tensor(storage, 0, {1}, {1})).find("storage has 24 bytes"),
              std::string::npos);
  }
  EXPECT_NE(refused(pickle::tensor(pickle::storage("FloatStorage", "7", 6), 0, {1}, {1}))
                .find("storage '7' is not in the archive"),
            std::string::npos);
  EXPECT_NE(refused(pickle::tensor(pickle::storage("QuantumStorage", "0", 6), 0, {1}, {1}))
                .find("unknown type 'QuantumStorage'"),
            std::string::npos);
}

// The product of the other sizes does not matter, and is not worked out.
TEST_F(PytorchFileTest, NoNumbersWithHugeSizes) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const auto tensors =
      open(archive(pickle::whole({pickle::text("w"),
                                  pickle::tensor(kFloats, 0, {0, 2, kHuge}, {1, kHuge, 1})}))
               .bytes());
  EXPECT_EQ(tensors.at("w").bytes, 0);
  EXPECT_EQ(tensors.at("w").strides, Sizes{});
}

TEST_F(PytorchFileTest, DeepNestingCostsNothing) {
  constexpr size_t kDeep = 2'000'000;
  std::string pickle = "\x80\x02)";
  for (size_t i = 0; i < kDeep; ++i) pickle += "\x85";  // a tuple of the one before
  EXPECT_EQ(pickle_complaint(pickle + "."), "data.pkl: does not hold a dictionary of tensors");
  EXPECT_EQ(pickle_complaint("\x80\x02" + std::string(kDeep, '(')), "data.pkl: ends in the middle");
  EXPECT_NE(pickle_complaint(std::string(9 << 20, '(')).find("expected at most 8388608"),
            std::string::npos);
}

TEST_F(PytorchFileTest, PicklesThatStumble) {
  EXPECT_EQ(pickle_complaint(""), "data.pkl: ends in the middle");
  EXPECT_EQ(pickle_complaint("\x80\x02."), "data.pkl: takes a value from an empty stack");
  EXPECT_EQ(pickle_complaint("\x80\x02t."), "data.pkl: lacks a mark that an instruction needs");
  EXPECT_EQ(pickle_complaint("\x80\x02}(}u."),
            "data.pkl: sets items of a value that is not a dictionary");
  EXPECT_EQ(pickle_complaint("\x80\x02h\x07."), "data.pkl: reads a memo slot that was never set");
  EXPECT_EQ(pickle_complaint("\x80\x02X\xff\xff\xff\xff."), "data.pkl: ends in the middle");
  EXPECT_EQ(pickle_complaint("\x80\x09}."), "data.pkl: is of protocol 9, expected at most 5");
  const std::string tensor = pickle::text("w") + pickle::tensor(kFloats, 0, {6}, {1});
  EXPECT_EQ(pickle_complaint(pickle::whole({tensor, tensor})), "data.pkl: has tensor 'w' twice");
}

TEST_F(PytorchFileTest, ArchivesThatLie) {
  const std::string good = pickle::whole({});
  const auto refused = [&](auto change) {
    RawZip zip = archive(good);
    change(zip);
    return complaint(zip.bytes());
  };
  EXPECT_EQ(refused([](RawZip&) {}), "");
  EXPECT_NE(refused([](RawZip& z) { z.entries[2].method = 8; }).find("compressed"),
            std::string::npos);
  EXPECT_NE(refused([](RawZip& z) { z.entries[2].flags = 1; }).find("encrypted"),
            std::string::npos);
  EXPECT_NE(refused([](RawZip& z) { z.entries[3].name = "archive/data/0"; }).find("twice"),
            std::string::npos);
  EXPECT_NE(refused([](RawZip& z) {
              z.entries[3].local_name = "archive/data/2";
            }).find("another before its data"),
            std::string::npos);
  EXPECT_NE(refused([](RawZip& z) { z.entries[3].shift = 1; }).find("another before its data"),
            std::string::npos);
  EXPECT_NE(refused([](RawZip& z) { z.entries[3].shift = 1 << 30; }).find("refers to byte"),
            std::string::npos);
  EXPECT_NE(refused([](RawZip& z) { z.more = 1; }).find("ends after 4 of 5"), std::string::npos);
  EXPECT_NE(refused([](RawZip& z) { z.more = -1; }).find("has more than the 3"), std::string::npos);
  EXPECT_NE(refused([](RawZip& z) { z.comment = "hello"; }).find("does not end"),
            std::string::npos);
  EXPECT_NE(refused([](RawZip& z) { z.entries[0].name = "archive/other"; }).find("no data.pkl"),
            std::string::npos);
  EXPECT_NE(refused([&](RawZip& z) {
              z.entries.push_back({"b/data.pkl", good});
            }).find("two pickles"),
            std::string::npos);
  EXPECT_NE(refused([](RawZip& z) { z.entries[1].data = "big"; }).find("big-endian"),
            std::string::npos);
}

// An entry inside another: its own header lies in the other's data.
TEST_F(PytorchFileTest, OverlappingStorages) {
  RawZip inner;
  inner.entries = {{"archive/data/1", std::string(8, 'b')}};
  RawZip zip = archive(pickle::whole({}));
  zip.entries[2].data = inner.bytes().substr(0, 52);
  const auto header = static_cast<int64_t>(30 + zip.entries[2].name.size());
  zip.entries[3].shift = -(static_cast<int64_t>(zip.entries[2].data.size()));
  EXPECT_NE(complaint(zip.bytes()).find("overlaps another part"), std::string::npos) << header;
}

TEST_F(PytorchFileTest, CutOff) {
  const std::string whole =
      archive(pickle::whole({pickle::text("w"), pickle::tensor(kFloats, 0, {6}, {1})})).bytes();
  ASSERT_EQ(complaint(whole), "");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(complaint(whole.substr(0, size)), "") << size;
  }
}

TEST_F(PytorchFileTest, OlderFormatsSayWhatToDo) {
  const std::string old = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
  EXPECT_TRUE(
      complaint(old).starts_with("is not a zip archive; if torch before version 1.6 wrote it"));
}

}  // namespace
}  // namespace ropewalk
