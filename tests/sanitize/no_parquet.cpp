// Replaces the Parquet reader, without which the smoke program is built: no file is Parquet.
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/text/corpus_formats.h"

namespace ropewalk {

std::unique_ptr<CorpusReader> open_parquet_corpus(const std::filesystem::path& path,
                                                  const CorpusOptions&) {
  const MappedFile file(path);
  throw InputError("{}: cannot be read as Parquet: built without it", path.string());
}

std::unique_ptr<CorpusReader> open_parquet_corpus(const std::shared_ptr<RemoteFile>&,
                                                  const CorpusOptions&) {
  throw InputError("a dataset cannot be read as Parquet: built without it");
}

}  // namespace ropewalk
