// The only file that uses MPI; no_mpi.cpp replaces it in builds without MPI.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/processes/launcher.h"

namespace ropewalk {
namespace {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int size = 0;
  MPI_Error_string(code, text.data(), &size);
  throw SystemError("{} failed: {}", call, text.data());
}
#define ROPEWALK_MPI_CHECK(call) check(call, #call)

// Sleeps while it waits. MPI itself waits in a busy loop, which takes cores from processes that
// still compute and cannot be interrupted.
void wait(MPI_Request request) {
  constexpr auto kLongest = std::chrono::microseconds(10'000);
  auto pause = std::chrono::microseconds(20);
  for (;;) {
    int met = 0;
    ROPEWALK_MPI_CHECK(MPI_Test(&request, &met, MPI_STATUS_IGNORE));
    if (met != 0) return;
    throw_if_interrupted();
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongest);
  }
}

// Tags of messages: two processes meet before they exchange numbers.
constexpr int kNumbers = 0;
constexpr int kMeeting = 1;

void tell(int other) {
  ROPEWALK_MPI_CHECK(MPI_Send(nullptr, 0, MPI_BYTE, other, kMeeting, MPI_COMM_WORLD));
}

void hear_from(int other) {
  MPI_Request request = MPI_REQUEST_NULL;
  ROPEWALK_MPI_CHECK(MPI_Irecv(nullptr, 0, MPI_BYTE, other, kMeeting, MPI_COMM_WORLD, &request));
  wait(request);
}

// MPI counts in int, so larger messages go in parts.
template <typename T, typename Send>
void in_parts(std::span<T> values, Send send) {
  constexpr size_t kMost = size_t{1} << 27;  // values
  for (size_t begin = 0; begin < values.size(); begin += kMost) {
    const auto part = values.subspan(begin, std::min(kMost, values.size() - begin));
    send(part.data(), static_cast<int>(part.size()));
  }
}

class MpiTransport : public Transport {
 public:
  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    ROPEWALK_MPI_CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    wait(request);
  }
  void broadcast(std::span<std::byte> bytes) override {
    barrier();
    in_parts(bytes, [](std::byte* data, int size) {
      ROPEWALK_MPI_CHECK(MPI_Bcast(data, size, MPI_BYTE, 0, MPI_COMM_WORLD));
    });
  }
  void send(int to, std::span<const double> numbers) override {
    hear_from(to);
    tell(to);
    in_parts(numbers, [to](const double* data, int size) {
      ROPEWALK_MPI_CHECK(MPI_Send(data, size, MPI_DOUBLE, to, kNumbers, MPI_COMM_WORLD));
    });
  }
  void receive(int from, std::span<double> numbers) override {
    tell(from);
    hear_from(from);
    in_parts(numbers, [from](double* data, int size) {
      ROPEWALK_MPI_CHECK(
          MPI_Recv(data, size, MPI_DOUBLE, from, kNumbers, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    });
  }
  void finish() override {
    barrier();
    MPI_Finalize();
  }
  void abort(int exit_code) override { MPI_Abort(MPI_COMM_WORLD, exit_code); }
};

}  // namespace

Communicator join_launched_processes() {
  const Launcher launcher = find_launcher([](const char* name) { return std::getenv(name); });
  if (launcher.count == 1) return {};
  int provided = 0;
  ROPEWALK_MPI_CHECK(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  ProcessRank self;
  ROPEWALK_MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &self.rank));
  ROPEWALK_MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &self.count));
  if (self.count == 1) {
    MPI_Finalize();
    throw UsageError(
        "{} started {} processes, but MPI sees each of them alone: this program was built with "
        "another MPI than the launcher's; with srun, name the interface with --mpi (srun "
        "--mpi=list shows the choices); or capture with --shard i/n and join with merge",
        launcher.name, launcher.count);
  }
  MPI_Comm machine = MPI_COMM_NULL;
  ROPEWALK_MPI_CHECK(
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine));
  ROPEWALK_MPI_CHECK(MPI_Comm_rank(machine, &self.local_rank));
  ROPEWALK_MPI_CHECK(MPI_Comm_size(machine, &self.local_count));
  MPI_Comm_free(&machine);
  return {self, std::make_shared<MpiTransport>()};
}

}  // namespace ropewalk
