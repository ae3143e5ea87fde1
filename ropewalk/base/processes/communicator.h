#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace ropewalk {

// Which process of a job this one is.
struct ProcessRank {
  int rank = 0;         // from 0
  int count = 1;        // number of processes
  int local_rank = 0;   // rank among the processes on this machine
  int local_count = 1;  // number of processes on this machine
};

// Moves bytes between processes: MPI (mpi.cpp), or what a caller of the library provides. Every
// process calls `barrier` and `broadcast`, in the same order. Waiting must end with Interrupted
// where a signal arrives (interrupt.h).
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> bytes) = 0;  // from the first process to all others
  virtual void send(int to, std::span<const double> numbers) = 0;
  virtual void receive(int from, std::span<double> numbers) = 0;  // waits for as many numbers
  virtual void finish() = 0;                                      // called once all are done
  virtual void abort(int exit_code) = 0;                          // ends every process of the job
};

// The processes of one job. By default this process is alone, and everything here is free. A
// function that is called collective must be called by every process, in the same order; it returns
// once the numbers are there. Copies of a communicator stand for the same processes.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const ProcessRank& self, std::shared_ptr<Transport> transport);

  int rank() const { return self_.rank; }
  int count() const { return self_.count; }
  int local_rank() const { return self_.local_rank; }
  int local_count() const { return self_.local_count; }
  bool first() const { return self_.rank == 0; }
  bool alone() const { return self_.count == 1; }

  // The first process does `work`, then all others do: an error that concerns everybody is reported
  // once, and the others find what the first one downloaded. Collective.
  void first_before_others(const std::function<void()>& work) const;

  // Returns the first process's number, text or bytes in every process. Collective.
  int64_t from_first(int64_t number) const;
  std::string from_first(std::string text) const;
  void copy_from_first(std::span<std::byte> bytes) const;

  // Sends numbers to another process, which waits for as many.
  void send(int to, std::span<const double> numbers) const;
  void receive(int from, std::span<double> numbers) const;

  // Leaves the job once all processes are done. Collective.
  void finish() const;
  // Ends every process of the job; returns where this process is alone. Not collective.
  void abort(int exit_code) const;

 private:
  ProcessRank self_;
  std::shared_ptr<Transport> transport_;  // null where this process is alone
};

}  // namespace ropewalk
