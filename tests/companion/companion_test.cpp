#include "ropewalk/companion/companion.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "ropewalk/base/processes/interrupt.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

using FailureKind = CompanionFailure::FailureKind;
using std::chrono::milliseconds;

// The requests that this companion understands, by the key `do`.
constexpr const char* kTask = R"python(
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

Companion::Settings settings() {
  Companion::Settings made;
  made.sources = {{"play", kTask}, {"other", kTask}};
  return made;
}

CompanionMessage message(Json words) { return {std::move(words), {}}; }

// How a request fails, and its error; one line.
std::pair<FailureKind, std::string> failure(Companion& companion, Json words,
                                            Companion::Limit limit = {}) {
  try {
    companion.ask("play", message(std::move(words)), limit);
  } catch (const CompanionFailure& failure) {
    const std::string said = failure.what();
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    return {failure.how(), said};
  }
  ADD_FAILURE() << "no failure";
  return {};
}

bool gone(pid_t process) {
  for (int i = 0; i < 500; ++i) {
    if (::kill(process, 0) != 0) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

pid_t process_of(Companion& companion) {
  return companion.ask("play", message({{"do", "process"}})).words.at("id_of").get<pid_t>();
}

TEST(Companion, AnswersWithWordsAndArrays) {
  Companion companion(settings());
  const std::string large(3 << 20, 'x');
  const CompanionMessage answer = companion.ask(
      "play", {{{"do", "echo"}, {"say", "é\n\"\U0001F600"}}, {{"a", large}, {"b", ""}}});
  EXPECT_EQ(answer.words.at("said"), "é\n\"\U0001F600");
  EXPECT_EQ(answer.array("a"), large);
  EXPECT_EQ(answer.array("b"), "");
  const CompanionMessage numbers = companion.ask("play", message({{"do", "numbers"}}));
  EXPECT_EQ(numbers.array("ids"), std::string("\1\0\0\0\2\1\0\0\377\377\377\377", 12));
  EXPECT_EQ(numbers.array("none"), "");
  EXPECT_THROW(numbers.array("more"), SystemError);
  EXPECT_EQ(companion.generation(), 1);
}

TEST(Companion, ManyRequestsMayBeUnderWay) {
  Companion companion(settings());
  std::vector<Companion::Ticket> tickets;
  for (int i = 0; i < 200; ++i)
    tickets.push_back(
        companion.send(i % 2 == 0 ? "play" : "other",
                       {{{"do", "echo"}, {"say", i}}, {{"a", std::string(5000, 'x')}}}));
  for (int i = 199; i >= 0; --i)
    EXPECT_EQ(companion.receive(tickets[static_cast<size_t>(i)]).words.at("said"), i);
}

TEST(Companion, TasksDoNotWaitForEachOther) {
  Companion companion(settings());
  const auto slow = companion.send("play", message({{"do", "sleep"}, {"seconds", 600}}));
  EXPECT_EQ(companion.ask("other", message({{"do", "echo"}, {"say", 1}})).words.at("said"), 1);
}

TEST(Companion, IsAPlainProcess) {
  Companion companion(settings());
  const Json words = companion.ask("play", message({{"do", "process"}})).words;
  EXPECT_EQ(words.at("folder"), Json::array()) << "the working folder is in the path";
  EXPECT_EQ(words.at("ignored"), Json({1, 1}));
  EXPECT_EQ(words.at("open"), Json({0, 1, 2, 3, 4, 5}))
      << "the last one is the folder that lists them";
  EXPECT_EQ(words.at("argument").at(1), "-P");
  EXPECT_LT(words.at("argument").at(3).get<std::string>().size(), 300U);
}

TEST(Companion, EndsWithItsObject) {
  pid_t process = 0;
  {
    Companion companion(settings());
    process = process_of(companion);
  }
  EXPECT_EQ(::kill(process, 0), -1);
  {
    Companion::Settings hasty = settings();
    hasty.farewell = milliseconds(100);
    Companion companion(hasty);
    process = process_of(companion);
    companion.send("play", message({{"do", "hold"}, {"seconds", 600}}));
  }
  EXPECT_TRUE(gone(process));
}

TEST(Companion, StartsOnlyWithTheFirstRequest) {
  Companion::Settings none;
  none.python = "no-such-python";
  Companion companion(none);
  EXPECT_EQ(companion.generation(), 0);
  const auto [how, said] = failure(companion, {{"do", "echo"}});
  EXPECT_EQ(how, FailureKind::cannot_run);
  EXPECT_EQ(said, "no-such-python: cannot run: No such file or directory");
}

TEST(Companion, RestartsAfterItDied) {
  Companion companion(settings());
  const pid_t first = process_of(companion);
  auto [how, said] = failure(companion, {{"do", "die"}, {"signal", SIGKILL}});
  EXPECT_EQ(how, FailureKind::ended);
  EXPECT_TRUE(said.ends_with(": ended by signal 9: last words")) << said;
  EXPECT_NE(process_of(companion), first);
  EXPECT_EQ(companion.generation(), 2);
  std::tie(how, said) = failure(companion, {{"do", "die"}, {"signal", 0}});
  EXPECT_TRUE(said.ends_with(": ended with exit code 7: last words")) << said;
  ::kill(process_of(companion), SIGKILL);  // while it is idle
  for (int i = 0; i < 500 && companion.generation() < 4; ++i) {
    try {
      process_of(companion);
    } catch (const CompanionFailure& failure) {
      EXPECT_EQ(failure.how(), FailureKind::ended);
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(companion.generation(), 4);
}

TEST(Companion, RefusesInvalidAnswers) {
  for (const char* rubbish :
       {"hello\n", "{}\n", "[]\n", "{\"arrays\": []}\n", "{\"arrays\": [], \"id\": 77}\n",
        "{\"arrays\": [], \"id\": \"x\"}\n",
        "{\"arrays\": [{\"name\": \"a\", \"type\": \"u1\", \"shape\": [-1]}], \"id\": 1}\n",
        "{\"arrays\": [{\"name\": \"a\", \"type\": \"f8\", \"shape\": [1]}], \"id\": 1}\n",
        "{\"arrays\": [{\"name\": \"a\", \"type\": \"i8\", \"shape\": [4611686018427387904, 4]}], "
        "\"id\": 1}\n",
        "{\"arrays\": [], \"id\": 1, \"error\": 3}\n"}) {
    Companion companion(settings());
    const auto [how, said] = failure(companion, {{"do", "rubbish"}, {"say", rubbish}});
    EXPECT_EQ(how, FailureKind::rubbish) << rubbish;
    EXPECT_NE(said.find("python"), std::string::npos) << said;
  }
}

TEST(Companion, PrintedTextDoesNotDisturbAnswers) {
  Companion companion(settings());
  for (int i = 0; i < 3; ++i) companion.ask("play", message({{"do", "print"}}));
  EXPECT_EQ(companion.generation(), 1);
}

TEST(Companion, PassesOnTheErrorOfATask) {
  Companion companion(settings());
  using Case = std::pair<FailureKind, std::string>;
  EXPECT_EQ(failure(companion, {{"do", "refuse"}, {"kind", "refused"}}),
            Case(FailureKind::refused, "the\\nreason"));
  EXPECT_EQ(failure(companion, {{"do", "refuse"}, {"kind", "missing"}}).first,
            FailureKind::missing);
  EXPECT_EQ(failure(companion, {{"do", "fail"}}),
            Case(FailureKind::refused, "first line second line"));
  EXPECT_EQ(failure(companion, {{"do", "panic"}}), Case(FailureKind::refused, "panicked"));
  EXPECT_EQ(failure(companion, {{"do", "memory"}}).first, FailureKind::memory);
  EXPECT_EQ(companion.generation(), 1) << "it went on";
}

TEST(Companion, IsEndedWhenItHangs) {
  Companion::Settings hasty = settings();
  hasty.silence = milliseconds(3000);
  Companion companion(hasty);
  companion.ask("play",
                message({{"do", "sleep"},
                         {"seconds", 4}}));  // longer than the limit of silence, with signs of life
  const pid_t process = process_of(companion);
  const auto [how, said] = failure(companion, {{"do", "hold"}, {"seconds", 600}});
  EXPECT_EQ(how, FailureKind::hangs);
  EXPECT_TRUE(said.ends_with(": hangs: no sign of life for 3 s")) << said;
  EXPECT_TRUE(gone(process));
}

TEST(Companion, ALateAnswerEndsIt) {
  Companion companion(settings());
  const pid_t process = process_of(companion);
  const auto late = companion.send("play", message({{"do", "sleep"}, {"seconds", 600}}));
  const auto behind = companion.send("play", message({{"do", "echo"}, {"say", 1}}));
  const auto how = [&](const Companion::Ticket& ticket) {
    try {
      companion.receive(ticket, milliseconds(50));
    } catch (const CompanionFailure& failure) {
      return failure.how();
    }
    return FailureKind::rubbish;
  };
  EXPECT_EQ(how(late), FailureKind::late);
  EXPECT_EQ(how(behind), FailureKind::dropped);
  EXPECT_TRUE(gone(process));
}

TEST(Companion, EnvironmentNamesThePython) {
  const TemporaryFolder folder;
  const auto python =
      folder.write("python", "#!/bin/sh\necho trace >&2\necho 'no good' >&2\nexit 1\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  ::setenv("ROPEWALK_PYTHON", python.c_str(), 1);
  Companion companion;
  const auto [how, said] = failure(companion, {{"do", "echo"}});
  ::unsetenv("ROPEWALK_PYTHON");
  EXPECT_EQ(how, FailureKind::ended);
  EXPECT_EQ(said, python.string() + ": ended with exit code 1: no good");
}

TEST(Companion, SaysThatAPythonIsTooOld) {
  const TemporaryFolder folder;
  const auto python =
      folder.write("python", "#!/bin/sh\necho 'Unknown option: -P' >&2\necho usage >&2\nexit 2\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  Companion::Settings old;
  old.python = python;
  Companion companion(old);
  const auto [how, said] = failure(companion, {{"do", "echo"}});
  EXPECT_EQ(how, FailureKind::cannot_run);
  EXPECT_EQ(said, python.string() + ": is older than Python 3.11");
}

TEST(Companion, AForkedProcessHasItsOwn) {
  Companion companion(settings());
  const pid_t mine = process_of(companion);
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      code = process_of(companion) != mine && companion.generation() == 2 ? 0 : 2;
    } catch (...) {
    }
    companion.~Companion();
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(process_of(companion), mine);
}

// Prints what becomes of the companion, for the test to look at.
[[noreturn]] void be_interrupted() {
  install_interrupt_handlers();
  Companion companion(settings());
  const pid_t process = process_of(companion);
  std::thread([] {
    std::this_thread::sleep_for(milliseconds(200));
    ::kill(::getpid(), SIGTERM);
  }).detach();
  try {
    companion.ask("play", message({{"do", "sleep"}, {"seconds", 600}}));
  } catch (const Interrupted&) {
    companion.~Companion();
    ::_exit(gone(process) ? 10 : 11);
  }
  ::_exit(12);
}

TEST(Companion, EndsWhenItsOwnerIsInterrupted) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(be_interrupted(), testing::ExitedWithCode(10), "");
}

// The process is killed at once, while a fork keeps everything open.
[[noreturn]] void be_killed() {
  Companion companion(settings());
  const pid_t process = process_of(companion);
  if (::fork() == 0) {
    ::sleep(20);
    ::_exit(0);
  }
  std::fprintf(stderr, "companion %d\n", static_cast<int>(process));
  ::raise(SIGKILL);
  ::_exit(1);
}

TEST(Companion, LeavesNoOrphan) {
  testing::internal::CaptureStderr();
  const pid_t parent = ::fork();
  if (parent == 0) be_killed();
  ::waitpid(parent, nullptr, 0);
  int process = 0;
  ASSERT_EQ(std::sscanf(testing::internal::GetCapturedStderr().c_str(), "companion %d", &process),
            1);
  EXPECT_TRUE(gone(process));
}

// The thread that starts the companion ends before the companion does.
TEST(Companion, OutlivesTheThreadThatStartedIt) {
  Companion companion(settings());
  pid_t process = 0;
  std::thread([&] { process = process_of(companion); }).join();
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_EQ(process_of(companion), process);
}

TEST(Companion, SharedCompanionEndsOnRequest) {
  const auto first = shared_companion().generation();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(&shared_companion(), &shared_companion());
  end_shared_companion();
  end_shared_companion();
}

}  // namespace
}  // namespace ropewalk
