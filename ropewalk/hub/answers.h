#pragma once

#include <map>
#include <string>
#include <vector>

#include "ropewalk/hub/cache.h"
#include "ropewalk/hub/http.h"

namespace ropewalk {

// What the Hub's answers say. `source` names them in the InputError that anything else than
// expected is.

// An etag without what surrounds it: W/"abc" and "abc" mean abc. A hash is in lower case.
std::string plain_etag(std::string etag);

// The address in Link: <https://…>; rel="next", or empty.
std::string next_page(const HttpResponse& response);

// The files in a page of the list of a commit's files.
std::vector<HubFile> read_tree(const std::string& body, const std::string& source);

// Branches and tags with their commits.
std::map<std::string, std::string> read_refs(const std::string& body, const std::string& source);

}  // namespace ropewalk
