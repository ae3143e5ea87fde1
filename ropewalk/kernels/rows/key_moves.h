#pragma once

#include <cstdint>
#include <vector>

namespace ropewalk {

// How the keys that a query sees change places among themselves, so that what place makes of its
// logits parts from what keys make of them. They are cut into runs, which are put in another order:
// all keys of a run move equally far, which for RoPE is the same as turning the query once for each
// run, not every key. Runs are of random lengths, as with equal ones a rotary pair of that
// wavelength would not notice that anything moved.

// The shortest run of a query that sees so many keys, of which there are 32 to 128; the longest is
// twice as long less one. Single keys move where a query sees fewer than 128.
int64_t shortest_run(int64_t keys);

// Where a document's runs begin, from `first` on, and where the last one ends: at or after `end`.
std::vector<int64_t> key_runs(uint64_t seed, int64_t first, int64_t shortest, int64_t end);

// How far the keys of each run move for the query at position t, which sees keys `from` … t: a run
// of which it sees a part moves with that part; 0 where it sees none. The keys end up at these same
// places.
std::vector<int64_t> run_moves(const std::vector<int64_t>& runs, uint64_t seed, int64_t from,
                               int64_t t);

}  // namespace ropewalk
