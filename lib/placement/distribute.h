// placement/distribute.h - how are pods spread over domains, as evenly as these have capacity?
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nervex::placement {

// Nodes, with the domain of each constraint that they are in.
class SpreadCells {
 public:
  explicit SpreadCells(std::size_t constraints) : constraints_(constraints) {}
  // `fit`: pods that fit there.
  void add(std::span<const std::size_t> domains, std::int64_t fit) {
    domains_.insert(domains_.end(), domains.begin(), domains.end());
    fit_.push_back(fit);
  }
  std::size_t size() const { return fit_.size(); }
  std::size_t domain(std::size_t cell, std::size_t constraint) const {
    return domains_[cell * constraints_ + constraint];
  }
  std::span<const std::size_t> domains(std::size_t cell) const {
    return std::span(domains_).subspan(cell * constraints_, constraints_);
  }
  // Takes the place of one pod; false: there is none left.
  bool take(std::size_t cell) { return fit_[cell]-- > 0; }

 private:
  std::size_t constraints_;
  std::vector<std::size_t> domains_;
  std::vector<std::int64_t> fit_;
};

// Places pods one by one: always in the domain of the first constraint that has the fewest, of its
// cells in the domain of the second constraint that has the fewest, and so on; of equal ones in the
// one with the lowest number. `counts`: by constraint and domain, the pods there now; gets those
// that are placed, too. Returns how many pods do not fit. Cost: cells x log(cells), and for each
// pod constraints x log(domains).
std::int64_t distribute(std::int64_t pods, SpreadCells cells,
                        std::vector<std::vector<std::int64_t>>& counts);

}  // namespace nervex::placement
