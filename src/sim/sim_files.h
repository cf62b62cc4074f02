// The Files double: a file system that forgets unsynced data.
//
// The nodes of a simulated cluster share it like a network file system. All nodes read the volatile
// state. write, append, rename and remove change only that; sync(file) makes the file's content
// durable, sync(folder) the names in it. When a node crashes, its unsynced changes may be lost, by
// the disk's random stream:
//
//   content   stays as it was last synced, or is torn (a prefix, the rest missing or zero), or
//             survives; after an append, only the appended bytes can be torn;
//   names     of each folder, a prefix of the unsynced changes survives: never a later rename
//             without an earlier one. A rename between two folders is one change and survives as a
//             whole. The name of a folder stays once another node has created something in it.
//
// Content and names are independent, so a rename may survive while the content of the renamed file
// does not: the classic bug of publishing before syncing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/types.h"
#include "runtime/env.h"
#include "runtime/files.h"

namespace shoal {

// The state shared by the nodes of a simulated cluster. Thread safety: none, as in the whole
// simulator. Invariant: the volatile names of a folder are its durable names with the log replayed
// on them.
class SimDisk {
 public:
  explicit SimDisk(Seed seed);
  ~SimDisk();
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  // Loses some of the unsynced changes of `node`. Returns the number of affected files and folders.
  std::size_t crash(NodeId node);

  // Sets a hook that is called before each call of any node, with its number from 0. If the hook
  // throws, the call throws and has no effect: crash in it, then throw, and the node died at that
  // call.
  void on_call(std::function<void(std::uint64_t call)> hook) { hook_ = std::move(hook); }
  std::uint64_t calls() const { return calls_; }

  // A write beyond this total throws, and leaves the bytes that fit, like a real one.
  void limit_capacity(Bytes capacity) { capacity_ = capacity; }
  Bytes used() const;
  // Visits every file as all nodes see it now, in the order of paths.
  using Visit = std::function<void(const std::string& path, std::span<const std::byte> content)>;
  void each_file(const Visit& visit) const;

 private:
  friend class SimFiles;
  struct Inode;
  using InodePtr = std::shared_ptr<Inode>;
  using Content = std::shared_ptr<const std::vector<std::byte>>;
  // A name in a folder now refers to `target`; null: it was removed.
  struct NameChange {
    InodePtr folder;
    std::string name;
    InodePtr target;
  };
  // Survives a crash as a whole or not at all.
  struct LogEntry {
    NodeId node;
    std::vector<NameChange> changes;
  };

  // The operations of Files, without time; SimFiles calls them.
  void begin_call();
  void write(NodeId node, std::string_view path, std::span<const std::byte> bytes);
  void append(NodeId node, std::string_view path, std::span<const std::byte> bytes);
  std::vector<std::byte> read(std::string_view path);
  void sync(std::string_view path);
  void rename(NodeId node, std::string_view from, std::string_view to);
  void remove(NodeId node, std::string_view path);
  std::vector<std::string> list(std::string_view path);
  Bytes size_of(std::string_view path) const;  // 0 if it is not a file
  bool ends_inside_a_line(std::string_view path) const;

  using Names = std::span<const std::string>;
  using Ids = std::set<std::uint64_t>;
  InodePtr find(Names names) const;
  InodePtr make_inode(bool is_folder);
  // Created if absent.
  InodePtr folder_above(NodeId node, Names names);
  InodePtr file_for(std::string_view call, NodeId node, std::string_view path);
  void add_content(std::string_view call, std::string_view path, Inode& file,
                   std::span<const std::byte> bytes);
  static void apply(const NameChange& change, std::map<std::string, InodePtr>& names);
  void keep_for(NodeId node, const InodePtr& folder);
  void change_names(NodeId node, std::vector<NameChange> changes);
  void empty_folder(NodeId node, const InodePtr& folder);
  void make_durable(std::vector<bool> chosen);  // one flag per log entry
  void lose_names(NodeId node, Ids& hit);
  void lose_content(NodeId node, Ids& hit);
  Content after_crash(const Inode& file);

  Random random_;
  std::uint64_t inodes_ = 0;
  InodePtr root_;
  std::vector<LogEntry> log_;                            // unsynced name changes, oldest first
  std::map<std::uint64_t, std::weak_ptr<Inode>> dirty_;  // files with unsynced content, by inode
  std::uint64_t calls_ = 0;
  std::function<void(std::uint64_t)> hook_;
  std::optional<Bytes> capacity_;
};

// The disk as one incarnation of a node sees it. The disk and the env outlive it.
class SimFiles final : public Files {
 public:
  SimFiles(SimDisk& disk, Env& env, NodeId node) : disk_(disk), env_(env), node_(node) {}

  // A phantom costs its time and leaves an empty file, or appends nothing.
  Task<void> write(std::string path, ConstBuf content) override;
  Task<void> append(std::string path, ConstBuf content) override;
  Task<void> append_lines(std::string path, ConstBuf lines) override;
  Task<std::vector<std::byte>> read(std::string path) override;
  Task<void> sync(std::string path) override;
  Task<void> rename(std::string from, std::string to) override;
  Task<void> remove(std::string path) override;
  Task<std::vector<std::string>> list(std::string folder) override;

 private:
  SimDisk& disk_;
  Env& env_;
  NodeId node_;
};

}  // namespace shoal
