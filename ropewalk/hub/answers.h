#pragma once

#include <map>
#include <string>
#include <vector>

#include "ropewalk/hub/cache.h"
#include "ropewalk/hub/http.h"

namespace ropewalk {

// Parses the Hub's answers. `source` names the answer in the InputError that anything unexpected
// raises.

// An etag without its wrapping: W/"abc" and "abc" become abc. A hash is put into lower case.
std::string plain_etag(std::string etag);

// The address in `Link: <https://…>; rel="next"`; empty where there is none.
std::string next_page(const HttpResponse& response);

// The files on one page of the list of a commit's files.
std::vector<HubFile> read_tree(const std::string& body, const std::string& source);

// Branches and tags with their commits.
std::map<std::string, std::string> read_refs(const std::string& body, const std::string& source);

}  // namespace ropewalk
