#include "queue/inadmissible.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::queue {
namespace {

TEST_CASE("each reason of the queues has a code and a sentence", "[queue][inadmissible]") {
  struct Row {
    Inadmissible reason;
    std::string code;
    std::string sentence;
  };
  const auto row = GENERATE(values<Row>({
      {QueueNotFound{"vision"}, "QueueNotFound", "queue vision does not exist"},
      {NamespaceNotSelected{"vision", "rl"}, "NamespaceNotSelected",
       "queue vision does not allow namespace rl (namespaceSelector)"},
      {QueueAmbiguous{"rl", {"a", "b"}}, "QueueAmbiguous",
       "namespace rl is selected by the queues a and b: name one in spec.queue of the job or in "
       "the namespace's label nervex.sensetime.com/queue"},
      {ParentNotFound{"vision", "research"}, "ParentNotFound",
       "queue vision has the parent research, which does not exist"},
      {QueueUnreadable{"vision", "spec.weight: no"}, "QueueUnreadable",
       "queue vision cannot be read: spec.weight: no"},
      {QueueCycle{{"a", "b"}}, "QueueCycle", "the parents of the queues form a cycle: a -> b -> a"},
      {QueueStopped{"vision"}, "QueueStopped", "queue vision is stopped"},
      {LimitExceeded{"vision", "memory", std::int64_t{8} << 30, std::int64_t{6} << 30,
                     std::int64_t{4} << 30},
       "LimitExceeded", "the limit of queue vision is memory 8Gi: 6Gi are used, 4Gi are needed"},
      {LimitExceeded{"vision", "nvidia.com/gpu", 8, 0, 16}, "LimitExceeded",
       "nvidia.com/gpu 16 are needed, more than the limit of queue vision, 8"},
      {LimitKept{"vision", "", "nvidia.com/gpu", 2, 4, SysTime(std::chrono::seconds(3'600))},
       "LimitKept",
       "the limit of queue vision leaves nvidia.com/gpu 2 beside what is kept for a job that is "
       "ahead and has waited long, 4 are needed; what ends before 1970-01-01T01:00:00Z still "
       "starts"},
      {LimitKept{"", "gpus", "nvidia.com/gpu", 0, 4}, "LimitKept",
       "quota gpus leaves nvidia.com/gpu 0 beside what is kept for a job that is "
       "ahead and has waited long, 4 are needed"},
  }));
  CHECK(code(row.reason) == row.code);
  CHECK(explain(row.reason) == row.sentence);
}

TEST_CASE("amounts do not change the cause", "[queue][inadmissible]") {
  const Inadmissible limit = LimitExceeded{"vision", "cpu", 8, 6, 4};
  CHECK(same_cause(limit, LimitExceeded{"vision", "cpu", 9, 7, 4}));
  CHECK_FALSE(same_cause(limit, LimitExceeded{"vision", "memory", 8, 6, 4}));
  CHECK_FALSE(same_cause(limit, LimitExceeded{"research", "cpu", 8, 6, 4}));
  CHECK_FALSE(same_cause(limit, QueueNotFound{"vision"}));
  CHECK_FALSE(same_cause(limit, LimitKept{"vision", "", "cpu", 8, 6}));
  CHECK(same_cause(LimitKept{"vision", "", "cpu", 8, 6}, LimitKept{"vision", "", "cpu", 7, 6}));
  CHECK(same_cause(QueueNotFound{"vision"}, QueueNotFound{"vision"}));
}

}  // namespace
}  // namespace nervex::queue
