#include "ropewalk/base/processes/communicator.h"

#include <utility>

namespace ropewalk {

Communicator::Communicator(const ProcessRank& self, std::shared_ptr<Transport> transport)
    : self_(self), transport_(std::move(transport)) {}

void Communicator::first_before_others(const std::function<void()>& work) const {
  if (first()) work();
  if (!alone()) transport_->barrier();
  if (!first()) work();
}

int64_t Communicator::from_first(int64_t number) const {
  copy_from_first(std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

std::string Communicator::from_first(std::string text) const {
  text.resize(static_cast<size_t>(from_first(static_cast<int64_t>(text.size()))));
  copy_from_first(std::as_writable_bytes(std::span(text)));
  return text;
}

void Communicator::copy_from_first(std::span<std::byte> bytes) const {
  if (!alone()) transport_->broadcast(bytes);
}

void Communicator::send(int to, std::span<const double> numbers) const {
  if (!alone()) transport_->send(to, numbers);
}

void Communicator::receive(int from, std::span<double> numbers) const {
  if (!alone()) transport_->receive(from, numbers);
}

void Communicator::finish() const {
  if (!alone()) transport_->finish();
}

void Communicator::abort(int exit_code) const {
  if (!alone()) transport_->abort(exit_code);
}

}  // namespace ropewalk
