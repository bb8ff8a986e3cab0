// A folder of a few files, replaced as a whole: whoever looks, or looks after a kill at any moment, finds the
// old files or the new ones.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ampgate::results {

// The new files are written beside the place, into NAME.aside-N, and the two folders exchange their names in
// one step. Where the file system cannot do that, the old one is first renamed to NAME.aside-N.old: a kill in
// between leaves both whole, and none under NAME. What killed writers left aside is removed by the next one
// that succeeds. Two writers at once do not meet; the last one's files stay.
class ReplacementFolder {
 public:
  // Makes the folder aside, and missing parents. A link is followed: what it points to is replaced. `names`:
  // all files that such a folder may hold; a folder that holds anything else is refused, since replacing
  // deletes it. Throws FileError when something else is in the place, EnvironmentError when the system
  // refuses.
  ReplacementFolder(const std::filesystem::path& place, std::vector<std::string> names);

  // Removes what is aside: unfinished or replaced.
  ~ReplacementFolder();
  ReplacementFolder(const ReplacementFolder&) = delete;
  ReplacementFolder& operator=(const ReplacementFolder&) = delete;

  // Where to write the files, each synced by the writer.
  const std::filesystem::path& aside() const { return aside_; }

  // Throws EnvironmentError; what was in the place is then still there.
  void put_in_place();

 private:
  void refuse_other_content() const;
  void make_aside();
  void exchange() const;
  void rename_twice() const;
  void remove(const std::filesystem::path& folder) const;
  void remove_leftovers() const;

  std::filesystem::path place_;
  std::vector<std::string> names_;
  std::filesystem::path aside_;
  int lock_ = -1;  // held on the folder aside: it is in use
};

}  // namespace ampgate::results
