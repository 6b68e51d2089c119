// A way to the disk that breaks at its n-th change, and a disk that forgets what was not flushed.
#pragma once

#include <sqlite3.h>

#include <cstring>
#include <map>
#include <random>

#include "unit/journal/places.hpp"

namespace soma {

// Counts writes, truncations and flushes of all files opened through it. Registered with SQLite
// while it lives.
class FaultyVfs {
 public:
  enum class Mode {
    Dies,   // the n-th change is half made, and nothing works after it: the process is gone
    Fails,  // the n-th change is half made and fails; the others work
    Full,   // the disk is full from the n-th change on
  };
  FaultyVfs(Mode mode, i64 breaks_at) : mode_(mode), breaks_at_(breaks_at) {
    real_ = sqlite3_vfs_find(nullptr);
    vfs_ = *real_;
    vfs_.pAppData = this;
    vfs_.zName = "faulty";
    vfs_.szOsFile = static_cast<i32>(sizeof(File)) + real_->szOsFile;
    vfs_.xOpen = open;
    vfs_.xDelete = remove;
    REQUIRE(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK);
  }
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;
  ~FaultyVfs() { sqlite3_vfs_unregister(&vfs_); }

  bool broke() const { return changes_ >= breaks_at_; }

  // Once all is closed: each write since a file's last flush is kept or lost, as it comes.
  void lose_power(u32 seed) {
    std::minstd_rand random(seed);
    for (const auto& [path, disk] : disks_) {
      if (!std::filesystem::exists(path)) continue;
      std::string bytes = disk.flushed;
      for (const Change& change : disk.since) {
        if (random() % 2 == 0) change.apply(bytes);
      }
      write_file(path, bytes);
    }
  }

 private:
  struct Change {
    bool truncates;
    size_t at;
    std::string data;
    void apply(std::string& bytes) const {
      if (truncates) return bytes.resize(at);
      if (bytes.size() < at + data.size()) bytes.resize(at + data.size());
      bytes.replace(at, data.size(), data);
    }
  };
  struct Disk {
    std::string flushed;
    std::vector<Change> since;
  };
  struct File {
    sqlite3_file base;
    FaultyVfs* owner;
    Disk* disk;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };
  static File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }

  // True: this change breaks.
  bool breaks() {
    ++changes_;
    if (mode_ == Mode::Fails) return changes_ == breaks_at_;
    return changes_ >= breaks_at_;
  }
  bool is_dead() const { return mode_ == Mode::Dies && changes_ >= breaks_at_; }
  i32 code(i32 usual) const { return mode_ == Mode::Full ? SQLITE_FULL : usual; }

  static i32 open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, i32 flags, i32* out) {
    auto& self = *static_cast<FaultyVfs*>(vfs->pAppData);
    File& mine = of(file);
    mine.base.pMethods = nullptr;
    if (self.is_dead()) return SQLITE_CANTOPEN;
    mine.owner = &self;
    const i32 opened = self.real_->xOpen(self.real_, name, mine.real(), flags, out);
    if (opened != SQLITE_OK) return opened;
    const auto [place, is_new] = self.disks_.try_emplace(name ? name : "");
    if (is_new && name) place->second.flushed = file_bytes(name);
    mine.disk = &place->second;
    mine.base.pMethods = &methods;
    return SQLITE_OK;
  }
  static i32 remove(sqlite3_vfs* vfs, const char* name, i32 flush) {
    auto& self = *static_cast<FaultyVfs*>(vfs->pAppData);
    if (self.is_dead()) return SQLITE_IOERR_DELETE;
    self.disks_[name] = {};
    return self.real_->xDelete(self.real_, name, flush);
  }
  static i32 close(sqlite3_file* file) {
    return of(file).real()->pMethods->xClose(of(file).real());
  }
  static i32 read(sqlite3_file* file, void* data, i32 size, sqlite3_int64 at) {
    if (of(file).owner->is_dead()) return SQLITE_IOERR_READ;
    return of(file).real()->pMethods->xRead(of(file).real(), data, size, at);
  }
  static i32 write(sqlite3_file* file, const void* data, i32 size, sqlite3_int64 at) {
    File& mine = of(file);
    const bool was_dead = mine.owner->is_dead(), breaks = mine.owner->breaks();
    if (was_dead) return SQLITE_IOERR_WRITE;
    const i32 written = breaks ? size / 2 : size;
    mine.disk->since.push_back({false, static_cast<size_t>(at),
                                std::string(static_cast<const char*>(data),
                                            static_cast<size_t>(written))});
    const i32 done = mine.real()->pMethods->xWrite(mine.real(), data, written, at);
    return breaks ? mine.owner->code(SQLITE_IOERR_WRITE) : done;
  }
  static i32 truncate(sqlite3_file* file, sqlite3_int64 size) {
    File& mine = of(file);
    if (mine.owner->breaks()) return mine.owner->code(SQLITE_IOERR_TRUNCATE);
    mine.disk->since.push_back({true, static_cast<size_t>(size), {}});
    return mine.real()->pMethods->xTruncate(mine.real(), size);
  }
  static i32 sync(sqlite3_file* file, i32 flags) {
    File& mine = of(file);
    if (mine.owner->breaks()) return mine.owner->code(SQLITE_IOERR_FSYNC);
    for (const Change& change : mine.disk->since) change.apply(mine.disk->flushed);
    mine.disk->since.clear();
    return mine.real()->pMethods->xSync(mine.real(), flags);
  }
  static i32 file_size(sqlite3_file* file, sqlite3_int64* size) {
    return of(file).real()->pMethods->xFileSize(of(file).real(), size);
  }
  static i32 lock(sqlite3_file* file, i32 level) {
    return of(file).real()->pMethods->xLock(of(file).real(), level);
  }
  static i32 unlock(sqlite3_file* file, i32 level) {
    return of(file).real()->pMethods->xUnlock(of(file).real(), level);
  }
  static i32 check_lock(sqlite3_file* file, i32* out) {
    return of(file).real()->pMethods->xCheckReservedLock(of(file).real(), out);
  }
  static i32 control(sqlite3_file* file, i32 what, void* argument) {
    return of(file).real()->pMethods->xFileControl(of(file).real(), what, argument);
  }
  static i32 sector_size(sqlite3_file* file) {
    return of(file).real()->pMethods->xSectorSize(of(file).real());
  }
  static i32 characteristics(sqlite3_file* file) {
    return of(file).real()->pMethods->xDeviceCharacteristics(of(file).real());
  }
  static constexpr sqlite3_io_methods methods = {
      1,         close,  read,       write,   truncate,    sync,           file_size, lock, unlock,
      check_lock, control, sector_size, characteristics, nullptr, nullptr, nullptr,   nullptr,
      nullptr,   nullptr};

  Mode mode_;
  i64 breaks_at_;
  i64 changes_ = 0;
  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
  std::map<std::string, Disk> disks_;
};

}  // namespace soma
