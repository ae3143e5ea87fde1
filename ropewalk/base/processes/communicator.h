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
  int count = 1;        // of all processes
  int local_rank = 0;   // among those on this machine
  int local_count = 1;  // of those on this machine
};

// How bytes get from one process to another: MPI (mpi.cpp), or what a caller of the library brings.
// `barrier` and `broadcast` are called by every process, in the same order. Waiting is to end with
// Interrupted where a signal comes (interrupt.h).
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> bytes) = 0;  // the first process's, to all
  virtual void send(int to, std::span<const double> numbers) = 0;
  virtual void receive(int from, std::span<double> numbers) = 0;  // waits for as many
  virtual void finish() = 0;                                      // all are done
  virtual void abort(int exit_code) = 0;                          // ends every process of the job
};

// The processes of one job, handed to whatever works together with others. By default this process
// is alone, and everything here is free. What is called collective must be called by every process,
// in the same order, and returns once the numbers are there. Copies speak for the same processes.
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

  // The first process does `work`, then all others do: what is wrong for everybody is said once,
  // and what the first one downloads the others find. Collective.
  void first_before_others(const std::function<void()>& work) const;

  // The first process's number, text or bytes, in every process. Collective.
  int64_t from_first(int64_t number) const;
  std::string from_first(std::string text) const;
  void copy_from_first(std::span<std::byte> bytes) const;

  // From one process to another, which waits for as many.
  void send(int to, std::span<const double> numbers) const;
  void receive(int from, std::span<double> numbers) const;

  // Leaves the others, all being done. Collective.
  void finish() const;
  // Ends every process of the job; returns where this one is alone. Not collective.
  void abort(int exit_code) const;

 private:
  ProcessRank self_;
  std::shared_ptr<Transport> transport_;  // null: alone
};

}  // namespace ropewalk
