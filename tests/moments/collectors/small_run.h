#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "ropewalk/kernels/attention/biased_attention.h"
#include "ropewalk/moments/files/merge.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/moments/files/moments_state.h"
#include "tests/moments/collectors/taken.h"
#include "tests/temporary_folder.h"
#include "tests/thread_job.h"

namespace ropewalk {

// Compares bit for bit.
inline void expect_same_moments(const CaptureMoments& a, const CaptureMoments& b) {
  EXPECT_EQ(a.info.to_json(), b.info.to_json());
  EXPECT_EQ(a.documents, b.documents);
  EXPECT_EQ(a.counts, b.counts);
  EXPECT_EQ(a.queries, b.queries);
  EXPECT_EQ(a.keys, b.keys);
  ASSERT_EQ(a.accumulated.size(), b.accumulated.size());
  const auto same = [](const std::vector<at::Tensor>& some, const std::vector<at::Tensor>& others) {
    return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                      [](const at::Tensor& one, const at::Tensor& other) {
                        return one.to(at::kDouble).equal(other.to(at::kDouble));
                      });
  };
  for (size_t i = 0; i < a.accumulated.size(); ++i) {
    const AccumulatedFields &one = a.accumulated[i], &other = b.accumulated[i];
    EXPECT_EQ(one.accumulator, other.accumulator);
    EXPECT_TRUE(same(one.total, other.total)) << "total of accumulator " << i;
    EXPECT_TRUE(same(one.blocks, other.blocks)) << "blocks of accumulator " << i;
  }
}

inline std::vector<std::string> names_of(const KeepRecords& records) {
  std::vector<std::string> names;
  for (const auto& [name, record] : records) names.push_back(name);
  return names;
}

// A few documents of random vectors, which a collector reads in the parts that a test wants.
struct SmallRun {
  std::vector<int64_t> lengths;  // tokens of documents
  int64_t d_head = 0;
  double mean = 0;
  int64_t context = 0;       // 0: unknown
  bool before_rope = false;  // also offers the same vectors as vectors before RoPE
  bool clusters = false;     // pairs of neighbours belong to one text
  ScoreOptions scores{};

  int64_t count() const { return static_cast<int64_t>(lengths.size()); }

  at::Tensor vectors(int64_t document, int64_t layer, int64_t heads) const {
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(
        static_cast<uint64_t>(1000 * document + 10 * layer + heads));
    return at::randn({heads, lengths[static_cast<size_t>(document)], d_head}, generator) + mean;
  }

  std::vector<Document> documents() const {
    std::vector<Document> all(lengths.size());
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].index = static_cast<int64_t>(i);
      if (clusters) all[i].cluster = static_cast<int64_t>(i) / 2;
      all[i].tokens.assign(static_cast<size_t>(lengths[i]), static_cast<int32_t>(i));
      all[i].set_digests();
    }
    return all;
  }

  // Reads every `step`-th document before `end` through all layers.
  void read(MomentsCollector& collector, int64_t first, int64_t step, int64_t end) const {
    const std::vector<Document> all = documents();
    for (const auto& [layer, streams] : collector.streams()) {
      for (int64_t i = first; i < end; i += step) {
        const Document& document = all[static_cast<size_t>(i)];
        const Positions positions = Positions::counted(lengths[static_cast<size_t>(i)]);
        const at::Tensor q = vectors(i, layer, 4);
        const at::Tensor k = vectors(i, layer, 2);
        if (before_rope) {
          collector.on_vectors({layer, &document, &positions, kPreRope, {{"q", q}, {"k", k}}});
        }
        TappedVectors after = taken(layer, document, positions, q, k);
        after.scores = &scores;
        collector.on_vectors(after);
      }
    }
  }
  void read(MomentsCollector& collector, int64_t first = 0, int64_t step = 1) const {
    read(collector, first, step, count());
  }

  // Writes these documents to a file and reads it back.
  CaptureMoments written(const TemporaryFolder& folder, const MomentsCollector& collector,
                         int64_t first, int64_t step, int64_t end) const {
    std::vector<DocumentRecord> records;
    for (int64_t i = first; i < end; i += step) records.push_back({i, static_cast<uint64_t>(i), 1});
    CaptureInfo info;
    info.context = context;
    info.point = kPostRope;
    info.accumulators = kept_records(collector.shape());
    write_moments(folder.path() / "file", collector, info, records);
    CaptureMoments read = read_moments(folder.path() / "file");
    expect_same_moments(rounded_to_file(collector, info, records), read);
    return read;
  }
  CaptureMoments written(const TemporaryFolder& folder, const MomentsCollector& collector,
                         int64_t first = 0, int64_t step = 1) const {
    return written(folder, collector, first, step, count());
  }

  // Reads all documents at once and writes them.
  CaptureMoments captured(const TemporaryFolder& folder, const ModelConfig& config,
                          const std::vector<QueryHead>& heads,
                          const CollectorOptions& options) const {
    MomentsCollector whole(config, heads, options);
    read(whole);
    return written(folder, whole);
  }
};

// Three ways to read a run in parts; each must give the same as reading all at once.
struct SmallParts {
  const SmallRun& run;
  const ModelConfig& config;
  std::vector<QueryHead> heads;
  CollectorOptions options;
  std::function<void(const CaptureMoments& found)> expect_same;

  void expect_all(const TemporaryFolder& folder) const {
    expect_merged(folder, options);
    expect_resumed(folder);
    expect_joined(folder);
  }

  void expect_merged(const TemporaryFolder& folder, const CollectorOptions& options_of_odd) const {
    MomentsCollector even(config, heads, options);
    MomentsCollector odd(config, heads, options_of_odd);
    run.read(even, 0, 2);
    run.read(odd, 1, 2);
    for (const bool reversed : {false, true}) {
      CaptureMoments evens = run.written(folder, even, 0, 2);
      CaptureMoments odds = run.written(folder, odd, 1, 2);
      CaptureMoments& merged = reversed ? odds : evens;
      join_capture(merged, reversed ? evens : odds);
      expect_same(merged);
      write_moments(folder.path() / "merged", merged);
      expect_same(read_moments(folder.path() / "merged"));
    }
  }

  // Stops after three documents; the state stays in the folder.
  void expect_resumed(const TemporaryFolder& folder) const {
    const std::vector<Document> all = run.documents();
    MomentsCollector first(config, heads, options);
    run.read(first, 0, 1, 3);
    save_state(folder.path() / "state", first, {{{"a", 1}}, 3, 0}, std::span(all).first(3));
    MomentsCollector second(config, heads, options);
    ASSERT_EQ(restore_state(folder.path() / "state", second, {{"a", 1}}, all), 3);
    run.read(second, 3);
    expect_same(run.written(folder, second));
  }

  void expect_joined(const TemporaryFolder& folder) const {
    ThreadJob(3).run([&](const Communicator& processes) {
      MomentsCollector part(config, heads, options);
      run.read(part, processes.rank(), processes.count());
      part.join_in_first(processes);
      if (processes.first()) expect_same(run.written(folder, part));
    });
  }
};

}  // namespace ropewalk
