#include "ropewalk/base/processes/interrupt.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>
#include <thread>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/last_resort.h"

namespace ropewalk {
namespace {

constexpr int kSystemExit = 4;  // the exit code of SystemError

volatile std::sig_atomic_t received = 0;
volatile std::sig_atomic_t signals = 0;
const char* volatile lost_file = nullptr;
volatile std::sig_atomic_t fault = 0;
pthread_t watcher;
sem_t arrived;  // posted once per signal
std::atomic<int> unhurried{0};
thread_local int unhurried_here = 0;

extern "C" void on_signal(int signal) {
  const int before = errno;
  signals = signals + 1;
  if (signals > 2) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  if (received == 0) received = signal;
  ::sem_post(&arrived);
  errno = before;
}

extern "C" void on_lost_memory(int signal, siginfo_t* info, void*) {
  const char* path = mapping_at(info->si_addr);
  if (path == nullptr) {  // a fault of the program: it dies of the signal once this returns
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  lost_file = path;
  ::sem_post(&arrived);
  for (;;) ::pause();  // the reading thread cannot go on; the watcher ends the process
}

// A fault of the program, or of a library that finds no memory. The process still dies of the
// signal, after the watcher has cleaned up. The signal is blocked until then, so it cannot arrive
// twice on this thread.
extern "C" void on_fault(int signal) {
  std::signal(signal, SIG_DFL);
  // The watcher itself failed, so nobody can clean up.
  if (::pthread_equal(::pthread_self(), watcher) != 0) {
    std::raise(signal);
    return;
  }
  fault = signal;
  ::sem_post(&arrived);
  for (;;) ::pause();
}

[[noreturn]] void die_of_fault() {
  ::alarm(2);  // the faulty thread may hold a lock that the cleanup needs
  if (is_first_to_end()) {
    run_exit_cleanups();
    log::error(
        "signal {}: a fault of this program or of one of its libraries; if memory is limited, give "
        "it more; otherwise please report it",
        static_cast<int>(fault));
  }
  ::raise(fault);
  ::_exit(128 + fault);
}

// Waits that many nanoseconds and returns whether a signal arrived.
bool another_signal(int64_t within) {
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  const int64_t nanoseconds = until.tv_nsec + within;
  until.tv_sec += nanoseconds / 1'000'000'000;
  until.tv_nsec = nanoseconds % 1'000'000'000;
  int waited = 0;
  while ((waited = ::sem_timedwait(&arrived, &until)) != 0 && errno == EINTR) {
  }
  return waited == 0;
}

// Ends the process where it does not end itself in time. It runs on a thread of its own because a
// signal handler must not do this.
[[noreturn]] void watch() {
  while (::sem_wait(&arrived) != 0) {
  }
  if (fault != 0) die_of_fault();
  if (lost_file == nullptr) {
    constexpr int64_t kPatience = 1'500'000'000;  // nanoseconds
    constexpr int64_t kSlice = 100'000'000;
    constexpr int kSlices = 185;
    bool again = another_signal(kPatience);
    for (int i = 0; !again && unhurried > 0 && i < kSlices; ++i) again = another_signal(kSlice);
  }
  if (fault != 0) die_of_fault();
  if (lost_file != nullptr) {
    end_process(kSystemExit, fmt::format("{}: changed or vanished while it was being read; make "
                                         "sure that nothing writes to it, then start again",
                                         lost_file));
  }
  end_process(128 + received, Interrupted(received).what());
}

}  // namespace

void install_interrupt_handlers() {
  reserve_memory_for_exit();
  ::sem_init(&arrived, 0, 0);
  try {
    std::thread watching(watch);
    watcher = watching.native_handle();
    watching.detach();
  } catch (const std::system_error& error) {
    throw SystemError("cannot start a thread: {}; are memory or processes limited?",
                      error.code().message());
  }
  // A library may end the program too: OpenMP does so where it cannot start its threads.
  std::atexit([] {
    if (is_first_to_end()) run_exit_cleanups();
  });
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGSEGV, on_fault);
  struct sigaction lost {};
  lost.sa_flags = SA_SIGINFO;
  lost.sa_sigaction = on_lost_memory;
  ::sigaction(SIGBUS, &lost, nullptr);
}

UninterruptedScope::UninterruptedScope() {
  ++unhurried;
  ++unhurried_here;
}

UninterruptedScope::~UninterruptedScope() {
  --unhurried_here;
  --unhurried;
}

void throw_if_interrupted() {
  if (received != 0 && unhurried_here == 0) throw Interrupted(received);
}

bool interrupted() { return received != 0; }

void request_interrupt(int signal) { received = signal; }

void forget_interrupt() { received = 0; }

}  // namespace ropewalk
