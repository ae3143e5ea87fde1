#pragma once

#include <set>
#include <string>

#include "ropewalk/study/capture_store.h"
#include "ropewalk/study/study.h"

namespace ropewalk {

// With a target for standard errors, the first trained checkpoint decides how many documents all of
// them read. That checkpoint, or null: no target, or none to decide.
// `failed`: labels of those that could not be measured; then the next one decides.
const PlannedCheckpoint* decisive_checkpoint(const Study& study,
                                             const std::set<std::string>& failed = {});

// What the captures that are there tell about how many documents are read.
struct Settled {
  int64_t documents = -1;           // -1: more must be read to know
  StoredCapture* stored = nullptr;  // of the decisive checkpoint: it settles that, or holds the
                                    // first documents, to which others are added; may be null
  bool reached = false;             // the target, by what `stored` holds
  std::string why;                  // what `stored` is not good for, in words
};
// The fewest documents with which a capture of the decisive checkpoint reaches the target; all of
// them where they miss it.
Settled settle_by_captures(const Study& study, CaptureStore& store,
                           const PlannedCheckpoint& decisive);

// How many documents most of the finished captures read: what tables are made of where the decisive
// checkpoint failed. -1: there are none.
int64_t finished_documents(const Study& study, CaptureStore& store);

}  // namespace ropewalk
