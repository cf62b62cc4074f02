#include "sim/sim_files.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "runtime/file_path.h"

namespace shoal {

// A file or a folder, under any name. Random choices go by number, not by address.
struct SimDisk::Inode {
  std::uint64_t id = 0;
  bool is_folder = false;
  // File content; null: empty.
  Content content;
  Content durable;
  std::size_t kept = 0;    // durable bytes of it: it may be `content` itself, which has grown since
  std::size_t intact = 0;  // bytes of the durable content that no unsynced call has changed
  NodeId writer = kNobody;
  // Names in a folder.
  std::map<std::string, InodePtr> names;
  std::map<std::string, InodePtr> durable_names;
};

namespace {

[[noreturn]] void refuse(std::string_view call, std::string_view path, std::string_view why) {
  throw DataError(fmt::format("{} {}: {}", call, path, why));
}

std::vector<std::string> names_below_root(std::string_view call, std::string_view path) {
  std::vector<std::string> names = path_names(path);
  if (names.empty()) refuse(call, "\"\"", "this is the job's folder itself; name something in it");
  return names;
}

}  // namespace

SimDisk::SimDisk(Seed seed) : random_(seed, Purpose::Disk), root_(make_inode(true)) {}
SimDisk::~SimDisk() = default;

SimDisk::InodePtr SimDisk::make_inode(bool is_folder) {
  auto inode = std::make_shared<Inode>();
  inode->id = inodes_++;
  inode->is_folder = is_folder;
  return inode;
}

SimDisk::InodePtr SimDisk::find(Names names) const {
  InodePtr inode = root_;
  for (const std::string& name : names) {
    const auto found = inode->names.find(name);
    if (found == inode->names.end()) return nullptr;
    inode = found->second;
  }
  return inode;
}

SimDisk::InodePtr SimDisk::folder_above(NodeId node, Names names) {
  InodePtr folder = root_;
  for (const std::string& name : names.first(names.size() - 1)) {
    if (!folder->names.contains(name)) change_names(node, {{folder, name, make_inode(true)}});
    const InodePtr next = folder->names.at(name);
    if (!next->is_folder) refuse("open", name, "this is a file, not a folder");
    keep_for(node, next);
    folder = next;
  }
  return folder;
}

// Another node creates something in a folder, so the folder's name is on the shared disk, and a
// crash of the node that created the folder cannot remove it.
void SimDisk::keep_for(NodeId node, const InodePtr& folder) {
  std::vector<bool> chosen(log_.size());
  for (std::size_t i = 0; i < log_.size(); ++i)
    chosen[i] = log_[i].node != node &&
                std::ranges::any_of(log_[i].changes,
                                    [&](const auto& change) { return change.target == folder; });
  if (std::ranges::find(chosen, true) != chosen.end()) make_durable(std::move(chosen));
}

void SimDisk::change_names(NodeId node, std::vector<NameChange> changes) {
  for (const NameChange& change : changes) apply(change, change.folder->names);
  log_.push_back({node, std::move(changes)});
}

void SimDisk::apply(const NameChange& change, std::map<std::string, InodePtr>& names) {
  if (change.target == nullptr) {
    names.erase(change.name);
  } else {
    names[change.name] = change.target;
  }
}

void SimDisk::begin_call() {
  const std::uint64_t call = calls_++;
  if (hook_) hook_(call);
}

SimDisk::InodePtr SimDisk::file_for(std::string_view call, NodeId node, std::string_view path) {
  const std::vector<std::string> names = names_below_root(call, path);
  const InodePtr folder = folder_above(node, names);
  InodePtr file = find(names);
  if (file == nullptr) {
    file = make_inode(false);
    change_names(node, {{folder, names.back(), file}});
  }
  if (file->is_folder) refuse(call, path, "this is a folder, not a file");
  return file;
}

void SimDisk::add_content(std::string_view call, std::string_view path, Inode& file,
                          std::span<const std::byte> bytes) {
  std::size_t fits = bytes.size();
  if (capacity_) {
    const Bytes taken = used();
    const Bytes free = *capacity_ > taken ? *capacity_ - taken : Bytes(0);
    fits = std::min(fits, free.value());
  }
  // Content that nothing else refers to grows in place: many nodes append to a log many times.
  const long own = file.content == file.durable ? 2 : 1;
  auto content = file.content != nullptr && file.content.use_count() == own
                     ? std::const_pointer_cast<std::vector<std::byte>>(file.content)
                     : std::make_shared<std::vector<std::byte>>();
  if (file.content != nullptr && content != file.content) *content = *file.content;
  content->insert(content->end(), bytes.begin(), bytes.begin() + fits);
  file.content = std::move(content);
  if (fits < bytes.size())
    refuse(call, path,
           fmt::format("no space left: needs {} bytes, {} are free. Free some space, or put the "
                       "run's folder on another disk (--out)",
                       bytes.size(), fits));
}

void SimDisk::write(NodeId node, std::string_view path, std::span<const std::byte> bytes) {
  begin_call();
  const InodePtr file = file_for("write", node, path);
  file->content = nullptr;
  file->intact = 0;
  file->writer = node;
  dirty_[file->id] = file;
  add_content("write", path, *file, bytes);
}

void SimDisk::append(NodeId node, std::string_view path, std::span<const std::byte> bytes) {
  begin_call();
  const InodePtr file = file_for("append", node, path);
  // Content written by another node is on the shared disk, or this call would not follow it.
  if (file->writer != node) {
    file->durable = file->content;
    file->kept = file->intact = file->content == nullptr ? 0 : file->content->size();
  }
  file->writer = node;
  dirty_[file->id] = file;
  add_content("append", path, *file, bytes);
}

std::vector<std::byte> SimDisk::read(std::string_view path) {
  begin_call();
  const InodePtr file = find(path_names(path));
  if (file == nullptr) refuse("read", path, "no such file");
  if (file->is_folder) refuse("read", path, "this is a folder, not a file");
  return file->content == nullptr ? std::vector<std::byte>() : *file->content;
}

std::vector<std::string> SimDisk::list(std::string_view path) {
  begin_call();
  const InodePtr folder = find(path_names(path));
  if (folder == nullptr) return {};
  if (!folder->is_folder) refuse("list", path, "this is a file, not a folder");
  std::vector<std::string> names;
  for (const auto& [name, inode] : folder->names) names.push_back(name);
  return names;
}

void SimDisk::sync(std::string_view path) {
  begin_call();
  const InodePtr inode = find(path_names(path));
  if (inode == nullptr) refuse("sync", path, "no such file or folder");
  if (!inode->is_folder) {
    inode->durable = inode->content;
    inode->kept = inode->intact = inode->content == nullptr ? 0 : inode->content->size();
    dirty_.erase(inode->id);
    return;
  }
  std::vector<bool> chosen(log_.size());
  for (std::size_t i = 0; i < log_.size(); ++i)
    chosen[i] = std::ranges::any_of(
        log_[i].changes, [&](const NameChange& change) { return change.folder == inode; });
  make_durable(std::move(chosen));
}

void SimDisk::rename(NodeId node, std::string_view from, std::string_view to) {
  begin_call();
  const std::vector<std::string> source = names_below_root("rename", from);
  const std::vector<std::string> target = names_below_root("rename", to);
  const InodePtr moved = find(source);
  if (moved == nullptr) refuse("rename", from, "no such file or folder");
  for (std::size_t depth = 1; depth < target.size(); ++depth)
    if (find(Names(target).first(depth)) == moved)
      refuse("rename", from, fmt::format("{} is inside it", to));
  const InodePtr replaced = find(target);
  if (replaced == moved) return;
  if (replaced != nullptr && replaced->is_folder != moved->is_folder)
    refuse("rename", from, fmt::format("only one of it and {} is a folder", to));
  if (replaced != nullptr && !replaced->names.empty())
    refuse("rename", from, fmt::format("{} is a folder that is not empty", to));

  const InodePtr target_folder = folder_above(node, target);
  const InodePtr source_folder = find(Names(source).first(source.size() - 1));
  std::vector<NameChange> changes;
  changes.push_back({source_folder, source.back(), nullptr});
  changes.push_back({target_folder, target.back(), moved});
  change_names(node, std::move(changes));
}

void SimDisk::remove(NodeId node, std::string_view path) {
  begin_call();
  const std::vector<std::string> names = names_below_root("remove", path);
  const InodePtr inode = find(names);
  if (inode == nullptr) return;
  // One change per name, like a real removal: a crash may leave a folder half emptied.
  empty_folder(node, inode);
  change_names(node, {{find(Names(names).first(names.size() - 1)), names.back(), nullptr}});
}

void SimDisk::empty_folder(NodeId node, const InodePtr& folder) {
  const std::map<std::string, InodePtr> names = folder->names;
  for (const auto& [name, inode] : names) {
    empty_folder(node, inode);
    change_names(node, {{folder, name, nullptr}});
  }
}

Bytes SimDisk::size_of(std::string_view path) const {
  const InodePtr inode = find(path_names(path));
  return Bytes(inode == nullptr || inode->content == nullptr ? 0 : inode->content->size());
}

bool SimDisk::ends_inside_a_line(std::string_view path) const {
  return size_of(path) > Bytes(0) && find(path_names(path))->content->back() != std::byte{'\n'};
}

Bytes SimDisk::used() const {
  Bytes sum;
  each_file([&](const auto&, auto content) { sum += Bytes(content.size()); });
  return sum;
}

void SimDisk::each_file(const Visit& visit) const {
  const std::function<void(const std::string&, const Inode&)> walk = [&](const std::string& path,
                                                                         const Inode& inode) {
    if (!inode.is_folder)
      visit(path, inode.content == nullptr ? std::span<const std::byte>() : *inode.content);
    for (const auto& [name, below] : inode.names)
      walk(path.empty() ? name : path + "/" + name, *below);
  };
  walk("", *root_);
}

// Chosen entries reach the disk, with every earlier entry of the folders that they touch: the
// durable state of a folder is always a prefix of its changes.
void SimDisk::make_durable(std::vector<bool> chosen) {
  Ids folders;
  for (std::size_t i = log_.size(); i-- > 0;) {
    for (const NameChange& change : log_[i].changes)
      if (folders.contains(change.folder->id)) chosen[i] = true;
    if (!chosen[i]) continue;
    for (const NameChange& change : log_[i].changes) folders.insert(change.folder->id);
  }
  std::vector<LogEntry> rest;
  for (std::size_t i = 0; i < log_.size(); ++i) {
    if (!chosen[i]) {
      rest.push_back(std::move(log_[i]));
      continue;
    }
    for (const NameChange& change : log_[i].changes) apply(change, change.folder->durable_names);
  }
  log_ = std::move(rest);
  std::erase_if(dirty_, [](const auto& entry) { return entry.second.expired(); });
}

std::size_t SimDisk::crash(NodeId node) {
  Ids hit;
  lose_names(node, hit);
  lose_content(node, hit);
  return hit.size();
}

void SimDisk::lose_names(NodeId node, Ids& hit) {
  std::map<std::uint64_t, std::uint64_t> left;  // by folder: how many more changes survive
  for (const LogEntry& entry : log_)
    if (entry.node == node)
      for (const NameChange& change : entry.changes) ++left[change.folder->id];
  for (auto& [folder, count] : left) count = random_.below(count + 1);

  std::map<std::uint64_t, InodePtr> changed;
  std::vector<LogEntry> log;
  std::vector<bool> survived;
  for (LogEntry& entry : log_) {
    const bool own = entry.node == node;
    const bool lost = own && std::ranges::any_of(entry.changes, [&](const NameChange& change) {
                        return left[change.folder->id] == 0;
                      });
    for (const NameChange& change : entry.changes) {
      if (lost) {
        left[change.folder->id] = 0;  // no later change in this folder survives
        changed[change.folder->id] = change.folder;
        if (change.target != nullptr) hit.insert(change.target->id);
      } else if (own && left[change.folder->id] > 0) {
        --left[change.folder->id];
      }
    }
    if (lost) continue;
    survived.push_back(own);
    log.push_back(std::move(entry));
  }
  log_ = std::move(log);
  make_durable(std::move(survived));

  for (const auto& [id, folder] : changed) folder->names = folder->durable_names;
  for (const LogEntry& entry : log_)
    for (const NameChange& change : entry.changes)
      if (changed.contains(change.folder->id)) apply(change, change.folder->names);
}

void SimDisk::lose_content(NodeId node, Ids& hit) {
  for (const auto& [id, weak] : dirty_) {
    const InodePtr file = weak.lock();
    if (file == nullptr || file->writer != node) continue;
    const Content content = after_crash(*file);
    const std::vector<std::byte> none;
    if ((content ? *content : none) != (file->content ? *file->content : none)) hit.insert(id);
    file->content = file->durable = content;
    file->kept = file->intact = content == nullptr ? 0 : content->size();
  }
  std::erase_if(dirty_, [&](const auto& entry) {
    const InodePtr file = entry.second.lock();
    return file == nullptr || file->writer == node;
  });
}

SimDisk::Content SimDisk::after_crash(const Inode& file) {
  const std::size_t size = file.content == nullptr ? 0 : file.content->size();
  switch (random_.below(3)) {
    case 0: {
      if (file.durable == nullptr || file.kept == file.durable->size()) return file.durable;
      const auto kept = file.durable->begin() + static_cast<std::ptrdiff_t>(file.kept);
      return std::make_shared<std::vector<std::byte>>(file.durable->begin(), kept);
    }
    case 1: {
      if (size == file.intact) return file.content;
      auto torn = std::make_shared<std::vector<std::byte>>(*file.content);
      torn->resize(file.intact + random_.below(size - file.intact));
      if (random_.chance(0.5)) torn->resize(size);
      return torn;
    }
    default: return file.content;
  }
}

namespace {

// Even a call without bytes takes a page's time, so that a crash can fall between any two calls.
Elements cost(Bytes size) { return Elements(std::max<std::uint64_t>(size.value(), 4096)); }

}  // namespace

Task<void> SimFiles::write(std::string path, ConstBuf content) {
  auto call = [&] { disk_.write(node_, path, content.bytes()); };
  co_await env_.work(Work::Io, cost(content.size), call);
}

Task<void> SimFiles::append(std::string path, ConstBuf content) {
  auto call = [&] { disk_.append(node_, path, content.bytes()); };
  co_await env_.work(Work::Io, cost(content.size), call);
}

Task<void> SimFiles::append_lines(std::string path, ConstBuf lines) {
  auto call = [&] {
    const std::byte new_line{'\n'};
    if (disk_.ends_inside_a_line(path)) disk_.append(node_, path, {&new_line, 1});
    disk_.append(node_, path, lines.bytes());
  };
  co_await env_.work(Work::Io, cost(lines.size), call);
}

Task<std::vector<std::byte>> SimFiles::read(std::string path) {
  std::vector<std::byte> bytes;
  auto call = [&] { bytes = disk_.read(path); };
  co_await env_.work(Work::Io, cost(disk_.size_of(path)), call);
  co_return bytes;
}

Task<void> SimFiles::sync(std::string path) {
  auto call = [&] { disk_.sync(path); };
  co_await env_.work(Work::Io, cost(disk_.size_of(path)), call);
}

Task<void> SimFiles::rename(std::string from, std::string to) {
  auto call = [&] { disk_.rename(node_, from, to); };
  co_await env_.work(Work::Io, cost(Bytes(0)), call);
}

Task<void> SimFiles::remove(std::string path) {
  auto call = [&] { disk_.remove(node_, path); };
  co_await env_.work(Work::Io, cost(Bytes(0)), call);
}

Task<std::vector<std::string>> SimFiles::list(std::string folder) {
  std::vector<std::string> names;
  auto call = [&] { names = disk_.list(folder); };
  co_await env_.work(Work::Io, cost(Bytes(0)), call);
  co_return names;
}

}  // namespace shoal
