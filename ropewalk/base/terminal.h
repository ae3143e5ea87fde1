#pragma once

namespace ropewalk {

// Shows log lines and progress on stderr; standard output belongs to results. Progress is a bar
// with rate and time left: on a terminal one line redrawn a few times a second; elsewhere a plain
// line every ten per cent (but not within two seconds of the last one), at least every 30 seconds,
// and at the end. No progress when the log level is above info.
void show_on_terminal();

}  // namespace ropewalk
