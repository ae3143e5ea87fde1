#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "ropewalk/companion/companion.h"

namespace ropewalk {

// The requests to this test companion, by the key `do`.
inline constexpr const char* kPlaySource = R"python(
import ctypes, os, sys, time

def answer(words, arrays):
    do = words["do"]
    if do == "echo":
        return {"said": words["say"]}, {name: ("u1", data) for name, data in arrays.items()}
    if do == "numbers":
        import array
        return {}, {"ids": ("i4", array.array("i", [1, 258, -1])), "none": ("i8", b"")}
    if do == "process":
        return {"id_of": os.getpid(), "folder": [place for place in sys.path if place in ("", os.getcwd())],
                "ignored": [int(__import__("signal").getsignal(number)) for number in (2, 15)],
                "open": sorted(map(int, os.listdir("/proc/self/fd")))[:6], "argument": sys.orig_argv}, None
    if do == "die":
        print("trace", file=sys.stderr)
        print("last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), words["signal"]) if words["signal"] else os._exit(7)
    if do == "rubbish":
        os.write(3, words["say"].encode())
    if do == "sleep":
        time.sleep(words["seconds"])
    if do == "hold":  # the interpreter's lock, as native code may
        ctypes.PyDLL(None).usleep(int(1e6 * words["seconds"]))
    if do == "print":
        print("in the way")
        ctypes.CDLL(None).puts(b"of a C library")
        ctypes.CDLL(None).fflush(None)
        os.system("echo of a child")
    if do == "refuse":
        raise Refused("the\nreason", words["kind"])
    if do == "fail":
        raise words and ValueError("first line\nsecond line")
    if do == "panic":
        raise BaseException("panicked")
    if do == "memory":
        raise MemoryError
    return {}, None
)python";

inline Companion::Settings play_settings() {
  Companion::Settings made;
  made.sources = {{"play", kPlaySource}, {"other", kPlaySource}};
  return made;
}

inline CompanionMessage play_message(Json words) { return {std::move(words), {}}; }

// How a request fails, and its message; one line.
inline std::pair<CompanionFailure::FailureKind, std::string> play_failure(
    Companion& companion, Json words, Companion::Limit limit = {}) {
  try {
    companion.ask("play", play_message(std::move(words)), limit);
  } catch (const CompanionFailure& failure) {
    const std::string said = failure.what();
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    return {failure.how(), said};
  }
  ADD_FAILURE() << "no failure";
  return {};
}

inline bool is_gone(pid_t process) {
  for (int i = 0; i < 500; ++i) {
    if (::kill(process, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

inline pid_t process_of(Companion& companion) {
  return companion.ask("play", play_message({{"do", "process"}})).words.at("id_of").get<pid_t>();
}

}  // namespace ropewalk
