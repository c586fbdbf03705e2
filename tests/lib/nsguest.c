/* SPDX-License-Identifier: GPL-2.0-or-later
 * nsguest.c - stands in for the guest: runs what comes on its stdin as a shell script, as root of the sandbox. */
#include <unistd.h>

int
main(void)
{
	execl("/bin/sh", "sh", "-s", (char *)NULL);
	return 127;
}
