// kube/freshness.h - has a cache seen all that was stored when somebody asked? Pure.
//
// A leader that has just taken its lease asks this of every cache: what the leader before it wrote
// may not have come through a standby's watch yet. Two things answer a question: a complete list
// that was begun after it (lists are consistent reads), or a watch that has reached the version
// which a consistent read, made after the question, showed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nervex::kube {

class Freshness {
 public:
  using Question = std::uint64_t;  // counts from 1; an answer to a later one answers the earlier

  void ask() { ++asked_; }
  Question asked() const { return asked_; }  // the latest one; 0: nobody has asked
  bool is_open() const { return answered_ < asked_; }

  // A list that was begun when `question` was the latest one is complete.
  void listed(Question question);
  // A consistent read, begun when `question` was the latest one, showed `version`, while the watch
  // was at `position`. False if the watch is beyond that version: then the history went back
  // (restored etcd), and only a list can answer.
  bool expect(Question question, std::string version, std::string_view position);
  // A version was asked for already, for the latest question.
  bool is_expecting() const { return is_open() && expected_for_ == asked_; }
  // The watch has told of everything up to `position`.
  void reached(std::string_view position);

 private:
  Question asked_ = 0;
  Question answered_ = 0;
  Question expected_for_ = 0;
  std::string expected_;
};

}  // namespace nervex::kube
