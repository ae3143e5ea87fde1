#pragma once

#include <filesystem>
#include <span>

#include "ropewalk/companion/companion.h"
#include "ropewalk/study/capture/capture.h"

namespace ropewalk {

// One model in the companion, with the moments of what it has read. A session that ends early, by
// an error or an interrupt, takes the companion along; a finished one leaves it to the next model.
class BackendSession {
 public:
  // Loads the model. `documents` are all that may be sent; weights that do not fit into memory are
  // kept in `offload`. Throws as throw_backend_error() does; so does everything below.
  BackendSession(const CaptureOptions& options, const OpenModel& model,
                 std::span<const Document> documents, const std::filesystem::path& offload);
  ~BackendSession();
  BackendSession(const BackendSession&) = delete;
  BackendSession& operator=(const BackendSession&) = delete;

  // Documents are measured in the order in which they are sent; receive() waits for one.
  Companion::Ticket send(const Document& document);
  void receive(const Companion::Ticket& ticket);
  // Writes the moments of all documents that were sent, as a capture in a new folder.
  void save(const std::filesystem::path& folder);
  // Frees the model.
  void finish();

 private:
  void ask(Json words);

  std::string label_;
  bool finished_ = false;
};

}  // namespace ropewalk
