#pragma once

#include <barrier>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "ropewalk/base/processes/communicator.h"

namespace ropewalk {

// Threads that replace the processes of a job. Work must not fail in only one of them: the others
// would wait for it.
class ThreadJob {
 public:
  explicit ThreadJob(int count)
      : count_(count), barrier_(count), numbers_(static_cast<size_t>(count)) {}

  // The number of values that a process has sent so far.
  size_t numbers_sent(int rank) const { return numbers_[static_cast<size_t>(rank)]; }

  void run(const std::function<void(const Communicator&)>& work) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < count_; ++rank) {
      threads.emplace_back([this, rank, &work] {
        work({{rank, count_, rank, count_}, std::make_shared<ThreadTransport>(*this, rank)});
      });
    }
  }

 private:
  class ThreadTransport : public Transport {
   public:
    ThreadTransport(ThreadJob& job, int rank) : job_(job), rank_(rank) {}
    void barrier() override { job_.barrier_.arrive_and_wait(); }
    void broadcast(std::span<std::byte> bytes) override {
      if (rank_ == 0) job_.published_ = bytes;
      barrier();
      if (rank_ != 0) std::memcpy(bytes.data(), job_.published_.data(), bytes.size());
      barrier();
    }
    void send(int to, std::span<const double> numbers) override {
      const std::lock_guard lock(job_.mutex_);
      job_.sent_[{rank_, to}].emplace_back(numbers.begin(), numbers.end());
      job_.numbers_[static_cast<size_t>(rank_)] += numbers.size();
      job_.changed_.notify_all();
    }
    void receive(int from, std::span<double> numbers) override {
      std::unique_lock lock(job_.mutex_);
      std::deque<std::vector<double>>& waiting = job_.sent_[{from, rank_}];
      job_.changed_.wait(lock, [&] { return !waiting.empty(); });
      std::copy(waiting.front().begin(), waiting.front().end(), numbers.begin());
      waiting.pop_front();
    }
    void finish() override { barrier(); }
    void abort(int) override { std::terminate(); }

   private:
    ThreadJob& job_;
    int rank_;
  };

  int count_;
  std::barrier<> barrier_;
  std::vector<size_t> numbers_;  // sent values, per process
  std::span<std::byte> published_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::deque<std::vector<double>>> sent_;  // per sender and receiver
};

}  // namespace ropewalk
