#include "ropewalk/base/files/direct_reading.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace ropewalk {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kLeastPiece = 2 * kHugePage;
// Every piece in memory of its own is one more mapping; the system allows a process about 65,000.
constexpr int64_t kMostPieces = 512;
constexpr int64_t kSector = 4096;  // offsets and sizes of O_DIRECT must be multiples of it

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Opens `path` only if it is still the file that `status` describes: a pipe of that name would
// block, and another file must not be read.
int open_same(const std::filesystem::path& path, const struct stat& status, int flags) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
  struct stat now {};
  if (file < 0) return -1;
  const bool same = ::fstat(file, &now) == 0 && now.st_dev == status.st_dev &&
                    now.st_ino == status.st_ino && now.st_size == status.st_size;
  if (same) return file;
  ::close(file);
  return -1;
}

// Returns whether `size` bytes were read. `asked` may go past the end of the file.
bool read_all(int file, std::byte* memory, int64_t begin, int64_t size, int64_t asked) {
  int64_t done = 0;
  while (file >= 0 && done < size) {
    const ssize_t got =
        ::pread(file, memory + done, static_cast<size_t>(asked - done), begin + done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += got;
  }
  return done >= size;
}

}  // namespace

DirectReading::DirectReading(const std::filesystem::path& path, const struct stat& status,
                             const std::byte* mapping)
    : mapping_(const_cast<std::byte*>(mapping)),
      size_(status.st_size),
      piece_(std::max(kLeastPiece, round_up(size_ / kMostPieces, kHugePage))),
      direct_(open_same(path, status, O_DIRECT)),
      cached_(open_same(path, status, 0)),
      states_(static_cast<size_t>((size_ + piece_ - 1) / piece_)) {}

DirectReading::~DirectReading() {
  if (direct_ >= 0) ::close(direct_);
  if (cached_ >= 0) ::close(cached_);
}

bool DirectReading::has_unrequested_bytes(int64_t offset, int64_t size) const {
  for (int64_t piece = offset / piece_; piece * piece_ < offset + size; ++piece) {
    if (states_[static_cast<size_t>(piece)] == State::unread) return true;
  }
  return false;
}

void DirectReading::read(int64_t offset, int64_t size) {
  for (int64_t piece = offset / piece_; piece * piece_ < offset + size; ++piece) {
    std::atomic<State>& state = states_[static_cast<size_t>(piece)];
    State unread = State::unread;
    if (!state.compare_exchange_strong(unread, State::reading)) continue;
    read_piece(static_cast<size_t>(piece));
    state = State::done;
    state.notify_all();
  }
}

void DirectReading::wait(int64_t offset, int64_t size) const {
  for (int64_t piece = offset / piece_; piece * piece_ < offset + size; ++piece) {
    states_[static_cast<size_t>(piece)].wait(State::reading);
  }
}

void DirectReading::read_piece(size_t piece) {
  const int64_t begin = static_cast<int64_t>(piece) * piece_;
  const int64_t bytes = std::min(piece_, size_ - begin);
  static const int64_t page = ::sysconf(_SC_PAGESIZE);
  const auto room = static_cast<size_t>(round_up(bytes, std::max(page, kSector)));
  if (cached_ < 0 || mostly_cached(begin, bytes)) return;
  void* memory = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
#ifdef MADV_HUGEPAGE
  ::madvise(memory, room, MADV_HUGEPAGE);  // fewer pages to clear and to free
#endif
  // Other threads may read the mapping meanwhile: they see the same bytes before and after.
  const bool moved =
      fill(static_cast<std::byte*>(memory), begin, bytes) &&
      ::mprotect(memory, room, PROT_READ) == 0 &&
      ::mremap(memory, room, room, MREMAP_MAYMOVE | MREMAP_FIXED, mapping_ + begin) != MAP_FAILED;
  if (moved) {
    own_bytes_ += bytes;
    return;
  }
  ::munmap(memory, room);
  // A failed mremap may have left a hole, so the file is mapped there again.
  ::mmap(mapping_ + begin, room, PROT_READ, MAP_PRIVATE | MAP_FIXED, cached_, begin);
}

// A file that belongs to somebody else and that this process may not write counts as cached,
// because the system does not tell.
bool DirectReading::mostly_cached(int64_t begin, int64_t size) const {
  static const int64_t page = ::sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> there(static_cast<size_t>((size + page - 1) / page));
  if (::mincore(mapping_ + begin, static_cast<size_t>(size), there.data()) != 0) return true;
  const auto count =
      std::count_if(there.begin(), there.end(), [](unsigned char one) { return (one & 1U) != 0; });
  if (2 * count < static_cast<int64_t>(there.size())) return false;
  ::madvise(mapping_ + begin, static_cast<size_t>(size), MADV_WILLNEED);
  return true;
}

bool DirectReading::fill(std::byte* memory, int64_t begin, int64_t size) const {
  return read_all(direct_, memory, begin, size, round_up(size, kSector)) ||
         read_all(cached_, memory, begin, size, size);
}

}  // namespace ropewalk
