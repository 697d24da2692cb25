// base/log_line.h - what does a logged event look like? Pure; base/log.h writes it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"

namespace nervex {

// One line, without the newline, whatever bytes the values hold:
//   text  2026-11-21T13:56:04.123Z info pod created namespace=rl pod="my job-0"
//   JSON  {"ts":"2026-11-21T13:56:04.123Z","level":"info","msg":"pod created","namespace":"rl",...}
// Text values are quoted where a reader could not tell their end. Control characters (those of
// Unicode too: a terminal obeys them) and bytes that are not UTF-8 are escaped; in JSON the latter
// become U+FFFD.
std::string log_line(LogFormat format, SysTime time, LogLevel level, std::string_view message,
                     std::span<const LogField> fields);

}  // namespace nervex
