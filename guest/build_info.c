/* SPDX-License-Identifier: GPL-2.0-or-later
 * build_info.c - see build_info.h.  The text is made by the Makefile. */
#include "guest/build_info.h"

static const char text[] =
#include "guest/build_info.inc"
	;

const char *
build_info(void)
{
	return text;
}
