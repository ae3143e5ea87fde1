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
#include "tests/companion/play.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

using FailureKind = CompanionFailure::FailureKind;
using std::chrono::milliseconds;

TEST(Companion, AnswersWithWordsAndArrays) {
  Companion companion(play_settings());
  const std::string large(3 << 20, 'x');
  const CompanionMessage answer = companion.ask(
      "play", {{{"do", "echo"}, {"say", "é\n\"\U0001F600"}}, {{"a", large}, {"b", ""}}});
  EXPECT_EQ(answer.words.at("said"), "é\n\"\U0001F600");
  EXPECT_EQ(answer.array("a"), large);
  EXPECT_EQ(answer.array("b"), "");
  const CompanionMessage numbers = companion.ask("play", play_message({{"do", "numbers"}}));
  EXPECT_EQ(numbers.array("ids"), std::string("\1\0\0\0\2\1\0\0\377\377\377\377", 12));
  EXPECT_EQ(numbers.array("none"), "");
  EXPECT_THROW(numbers.array("more"), SystemError);
  EXPECT_EQ(companion.generation(), 1);
}

TEST(Companion, ManyRequestsMayBeUnderWay) {
  Companion companion(play_settings());
  std::vector<Companion::Ticket> tickets;
  for (int i = 0; i < 200; ++i)
    tickets.push_back(
        companion.send(i % 2 == 0 ? "play" : "other",
                       {{{"do", "echo"}, {"say", i}}, {{"a", std::string(5000, 'x')}}}));
  for (int i = 199; i >= 0; --i)
    EXPECT_EQ(companion.receive(tickets[static_cast<size_t>(i)]).words.at("said"), i);
}

TEST(Companion, TasksDoNotWaitForEachOther) {
  Companion companion(play_settings());
  const auto slow = companion.send("play", play_message({{"do", "sleep"}, {"seconds", 600}}));
  EXPECT_EQ(companion.ask("other", play_message({{"do", "echo"}, {"say", 1}})).words.at("said"), 1);
}

TEST(Companion, IsAPlainProcess) {
  Companion companion(play_settings());
  const Json words = companion.ask("play", play_message({{"do", "process"}})).words;
  EXPECT_EQ(words.at("folder"), Json::array()) << "the working folder is in the path";
  EXPECT_EQ(words.at("ignored"), Json({1, 1}));
  EXPECT_EQ(words.at("open"), Json({0, 1, 2, 3, 4, 5}))
      << "the last one is the folder that lists them";
  EXPECT_EQ(words.at("argument").at(1), "-P");
  EXPECT_LT(words.at("argument").at(3).get<std::string>().size(), 300U);
}

TEST(Companion, StartsWithTheFirstRequestAlone) {
  Companion::Settings none;
  none.python = "no-such-python";
  Companion companion(none);
  EXPECT_EQ(companion.generation(), 0);
  const auto [how, said] = play_failure(companion, {{"do", "echo"}});
  EXPECT_EQ(how, FailureKind::cannot_run);
  EXPECT_EQ(said, "no-such-python: cannot run: No such file or directory");
}

TEST(Companion, DiesAndBeginsAnew) {
  Companion companion(play_settings());
  const pid_t first = process_of(companion);
  auto [how, said] = play_failure(companion, {{"do", "die"}, {"signal", SIGKILL}});
  EXPECT_EQ(how, FailureKind::ended);
  EXPECT_TRUE(said.ends_with(": ended by signal 9: last words")) << said;
  EXPECT_NE(process_of(companion), first);
  EXPECT_EQ(companion.generation(), 2);
  std::tie(how, said) = play_failure(companion, {{"do", "die"}, {"signal", 0}});
  EXPECT_TRUE(said.ends_with(": ended with exit code 7: last words")) << said;
  ::kill(process_of(companion), SIGKILL);  // while it has nothing to do
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

TEST(Companion, RefusesRubbish) {
  for (const char* rubbish :
       {"hello\n", "{}\n", "[]\n", "{\"arrays\": []}\n", "{\"arrays\": [], \"id\": 77}\n",
        "{\"arrays\": [], \"id\": \"x\"}\n",
        "{\"arrays\": [{\"name\": \"a\", \"type\": \"u1\", \"shape\": [-1]}], \"id\": 1}\n",
        "{\"arrays\": [{\"name\": \"a\", \"type\": \"f8\", \"shape\": [1]}], \"id\": 1}\n",
        "{\"arrays\": [{\"name\": \"a\", \"type\": \"i8\", \"shape\": [4611686018427387904, 4]}], "
        "\"id\": 1}\n",
        "{\"arrays\": [], \"id\": 1, \"error\": 3}\n"}) {
    Companion companion(play_settings());
    const auto [how, said] = play_failure(companion, {{"do", "rubbish"}, {"say", rubbish}});
    EXPECT_EQ(how, FailureKind::rubbish) << rubbish;
    EXPECT_NE(said.find(": invalid answer: '"), std::string::npos) << said;
  }
}

TEST(Companion, WhatIsPrintedIsInNobodysWay) {
  Companion companion(play_settings());
  for (int i = 0; i < 3; ++i) companion.ask("play", play_message({{"do", "print"}}));
  EXPECT_EQ(companion.generation(), 1);
}

TEST(Companion, SaysWhatATaskSays) {
  Companion companion(play_settings());
  using Case = std::pair<FailureKind, std::string>;
  EXPECT_EQ(play_failure(companion, {{"do", "refuse"}, {"kind", "refused"}}),
            Case(FailureKind::refused, "the\\nreason"));
  EXPECT_EQ(play_failure(companion, {{"do", "refuse"}, {"kind", "missing"}}).first,
            FailureKind::missing);
  EXPECT_EQ(play_failure(companion, {{"do", "fail"}}),
            Case(FailureKind::refused, "first line second line"));
  EXPECT_EQ(play_failure(companion, {{"do", "panic"}}), Case(FailureKind::refused, "panicked"));
  EXPECT_EQ(play_failure(companion, {{"do", "memory"}}).first, FailureKind::memory);
  EXPECT_EQ(companion.generation(), 1) << "it went on";
}

TEST(Companion, ThatHangsIsEnded) {
  Companion::Settings hasty = play_settings();
  hasty.silence = milliseconds(3000);
  Companion companion(hasty);
  companion.ask("play", play_message({{"do", "sleep"}, {"seconds", 4}}));  // shows signs of life
  const pid_t process = process_of(companion);
  const auto [how, said] = play_failure(companion, {{"do", "hold"}, {"seconds", 600}});
  EXPECT_EQ(how, FailureKind::hangs);
  EXPECT_TRUE(said.ends_with(": hangs: no sign of life for 3 s")) << said;
  EXPECT_TRUE(is_gone(process));
}

TEST(Companion, ALateAnswerEndsIt) {
  Companion companion(play_settings());
  const pid_t process = process_of(companion);
  const auto late = companion.send("play", play_message({{"do", "sleep"}, {"seconds", 600}}));
  const auto behind = companion.send("play", play_message({{"do", "echo"}, {"say", 1}}));
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
  EXPECT_TRUE(is_gone(process));
}

TEST(Companion, IsFoundByTheEnvironment) {
  const TemporaryFolder folder;
  const auto python =
      folder.write("python", "#!/bin/sh\necho trace >&2\necho 'no good' >&2\nexit 1\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  ::setenv("ROPEWALK_PYTHON", python.c_str(), 1);
  Companion companion;
  const auto [how, said] = play_failure(companion, {{"do", "echo"}});
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
  const auto [how, said] = play_failure(companion, {{"do", "echo"}});
  EXPECT_EQ(how, FailureKind::cannot_run);
  EXPECT_EQ(said, python.string() + ": is older than Python 3.11");
}

TEST(Companion, SharedOneEndsWhenToldTo) {
  const auto first = shared_companion().generation();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(&shared_companion(), &shared_companion());
  end_shared_companion();
  end_shared_companion();
}

}  // namespace
}  // namespace ropewalk
