// MappedFile and AtomicFile: contents, errors that name path and cause, nothing left behind by an
// unfinished write.
#include "runtime/File.h"

#include "TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace nncc;
using namespace nncc::rt;

TEST(MappedFile, ShowsTheContents) {
  TemporaryFolder folder;
  Result<MappedFile> file = MappedFile::open(folder.write("a", "hello"));
  ASSERT_TRUE(file);
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(file->bytes().data()), file->bytes().size()),
            "hello");
  Result<MappedFile> empty = MappedFile::open(folder.write("b", ""));
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->bytes().size(), 0u);
}

TEST(MappedFile, NamesPathAndCause) {
  TemporaryFolder folder;
  Result<MappedFile> missing = MappedFile::open(folder / "missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::Environment);
  EXPECT_EQ(missing.error().message,
            "cannot open '" + folder / "missing" + "': No such file or directory");
  Result<MappedFile> directory = MappedFile::open(folder / "");
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().message.find("Is a directory"), std::string::npos);
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  TemporaryFolder folder;
  std::string path = folder.write("out", "old");
  {
    Result<AtomicFile> file = AtomicFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("half"));
    EXPECT_EQ(TemporaryFolder::read(path), "old");
  }
  EXPECT_EQ(TemporaryFolder::read(path), "old");
  EXPECT_EQ(folder.fileCount(), 1u);
  ASSERT_TRUE(writeFileAtomically(path, "new"));
  EXPECT_EQ(TemporaryFolder::read(path), "new");
  EXPECT_EQ(folder.fileCount(), 1u);
}

TEST(AtomicFile, NamesPathAndCause) {
  TemporaryFolder folder;
  Result<void> noFolder = writeFileAtomically(folder / "no/such/out", "x");
  ASSERT_FALSE(noFolder);
  EXPECT_EQ(noFolder.error().message,
            "cannot write '" + folder / "no/such/out" + "': No such file or directory");
  Result<void> directory = writeFileAtomically(folder / "", "x");
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().message.find("Is a directory"), std::string::npos);
}
