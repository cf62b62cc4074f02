#include "transport/shm/region.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace shoal::shm {
namespace {

constexpr std::uint64_t kPage = 4096;
// Small enough to waste little, large enough that a peer maps few of them.
constexpr std::uint64_t kSlab = 4U << 20U;
// Unused slabs are kept for the next message, up to this size.
constexpr std::uint64_t kIdleMax = 64U << 20U;

std::uint64_t whole_pages(std::uint64_t size) {
  return std::max(kPage, (size + kPage - 1) / kPage * kPage);
}

}  // namespace

void Graveyard::bury(RegionId id) {
  const std::lock_guard lock(mutex_);
  ids_.push_back(id);
  any_.store(true, std::memory_order_release);
}

std::vector<RegionId> Graveyard::clear() {
  const std::lock_guard lock(mutex_);
  any_.store(false, std::memory_order_release);
  return std::exchange(ids_, {});
}

RegionPtr Regions::make(Bytes size) {
  return std::make_shared<Region>(next_++, Bytes(whole_pages(size.value())), graveyard_);
}

void Regions::publish(const RegionPtr& region) {
  // Also replaces the entry of an ended region at this address.
  published_[reinterpret_cast<std::uintptr_t>(region->memory.data())] = {region->id, region};
}

RegionPtr Regions::find(ConstBuf payload) const {
  const auto at = reinterpret_cast<std::uintptr_t>(payload.data);
  auto it = published_.upper_bound(at);
  if (it == published_.begin()) return nullptr;
  --it;
  RegionPtr region = it->second.region.lock();
  if (region == nullptr) return nullptr;
  const std::uint64_t size = region->memory.size().value();
  const std::uint64_t offset = at - it->first;
  if (offset >= size || payload.size.value() > size - offset) return nullptr;
  return region;
}

std::vector<RegionId> Regions::take_gone() {
  const std::vector<RegionId> gone = graveyard_->clear();
  std::erase_if(published_, [&](const auto& entry) {
    return std::find(gone.begin(), gone.end(), entry.second.id) != gone.end();
  });
  return gone;
}

Lease StagePool::take(std::uint64_t size) {
  const std::uint64_t want = whole_pages(size);
  const auto cut = [&](Slab& slab, auto part) {
    if (slab.idle()) idle_bytes_ -= slab.region->memory.size().value();
    const auto [at, room] = *part;
    slab.free.erase(part);
    if (room > want) slab.free.emplace(at + want, room - want);
    return Lease{slab.region, at, want};
  };
  for (auto& [id, slab] : slabs_)
    for (auto part = slab.free.begin(); part != slab.free.end(); ++part)
      if (part->second >= want) return cut(slab, part);

  const RegionPtr region = regions_->make(Bytes(std::max(want, kSlab)));
  Slab& slab = slabs_[region->id];
  slab.region = region;
  slab.free.emplace(0, region->memory.size().value());
  idle_bytes_ += region->memory.size().value();
  return cut(slab, slab.free.begin());
}

void StagePool::give(Lease lease) {
  const auto found = slabs_.find(lease.region->id);
  SHOAL_CHECK(found != slabs_.end());
  Slab& slab = found->second;
  const auto [part, inserted] = slab.free.emplace(lease.at, lease.size);
  SHOAL_CHECK(inserted, "staging memory was returned twice");
  auto next = std::next(part);
  if (next != slab.free.end() && part->first + part->second == next->first) {
    part->second += next->second;
    slab.free.erase(next);
  }
  if (part != slab.free.begin()) {
    auto before = std::prev(part);
    if (before->first + before->second == part->first) {
      before->second += part->second;
      slab.free.erase(part);
    }
  }
  if (!slab.idle()) return;
  const std::uint64_t size = slab.region->memory.size().value();
  if (idle_bytes_ + size > kIdleMax)
    slabs_.erase(found);
  else
    idle_bytes_ += size;
}

}  // namespace shoal::shm
