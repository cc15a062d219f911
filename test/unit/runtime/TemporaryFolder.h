// A folder of its own for one test, removed with all that is in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nncc-test-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  std::string operator/(const std::string &name) const { return (path / name).string(); }

  std::string write(const std::string &name, const std::string &contents) const {
    std::ofstream(path / name, std::ios::binary) << contents;
    return (path / name).string();
  }

  static std::string read(const std::string &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  size_t fileCount() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }

private:
  std::filesystem::path path;
};
