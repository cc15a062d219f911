// MappedFile and AtomicFile: contents, errors that name path and cause, nothing left behind by an
// unfinished write.
#include "runtime/File.h"

#include "TemporaryFolder.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

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
  EXPECT_EQ(missing.error().kind, ErrorKind::User);
  EXPECT_EQ(missing.error().message,
            "cannot open '" + folder / "missing" + "': No such file or directory");
  Result<MappedFile> directory = MappedFile::open(folder / "");
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().message.find("Is a directory"), std::string::npos);
}

TEST(MappedFile, NeverWaitsForAPipe) {
  TemporaryFolder folder;
  std::string path = folder / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  Result<MappedFile> pipe = MappedFile::open(path);
  ASSERT_FALSE(pipe);
  EXPECT_EQ(pipe.error().message, "cannot read '" + path +
                                      "': expected a regular file, found a device, pipe or socket");
}

TEST(AtomicFile, GivesThePermissionsOfAnyNewFile) {
  TemporaryFolder folder;
  mode_t mask = umask(027);
  Result<void> written = writeFileAtomically(folder / "out", "x");
  umask(mask);
  ASSERT_TRUE(written);
  struct stat info;
  ASSERT_EQ(stat((folder / "out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(AtomicFile, FollowsLinksAndKeepsThem) {
  TemporaryFolder folder;
  std::string target = folder.write("target", "old"), link = folder / "link";
  ASSERT_EQ(symlink("target", link.c_str()), 0);
  ASSERT_TRUE(writeFileAtomically(link, "new"));
  EXPECT_EQ(TemporaryFolder::read(target), "new");
  struct stat info;
  ASSERT_EQ(lstat(link.c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
}

TEST(AtomicFile, WritesToDevicesAndLeavesThem) {
  TemporaryFolder folder;
  std::string link = folder / "full"; // so that a mistake replaces this link and not the device
  ASSERT_EQ(symlink("/dev/full", link.c_str()), 0);
  Result<void> full = writeFileAtomically(link, "x");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::User);
  EXPECT_EQ(full.error().message, "cannot write '" + link +
                                      "': No space left on device; free some space or choose "
                                      "another place");
  struct stat info;
  ASSERT_EQ(stat(link.c_str(), &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  EXPECT_EQ(folder.fileCount(), 1u);
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
