#include "ropewalk/study/show/report_template.h"

// The assembler includes the file directly: compiling a megabyte of literals would take minutes.
__asm__(
    ".section .rodata\n"
    ".global ropewalk_report_template_begin\n"
    ".global ropewalk_report_template_end\n"
    "ropewalk_report_template_begin:\n"
    ".incbin \"" ROPEWALK_REPORT_TEMPLATE
    "\"\n"
    "ropewalk_report_template_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" const char ropewalk_report_template_begin[];
extern "C" const char ropewalk_report_template_end[];

namespace ropewalk {

std::string_view report_template() {
  return {ropewalk_report_template_begin,
          static_cast<size_t>(ropewalk_report_template_end - ropewalk_report_template_begin)};
}

}  // namespace ropewalk
