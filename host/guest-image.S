/* SPDX-License-Identifier: GPL-2.0-or-later
 * guest-image.S - the guest's program inside the host's: one file to install.  The build folder is in the include path. */
	.section .rodata.guest_image, "a"
	.balign 16
	.globl guest_image
	.type guest_image, %object
guest_image:
	.incbin "agenttwin-guest"
	.globl guest_image_end
	.type guest_image_end, %object
guest_image_end:
	.size guest_image, . - guest_image
	.byte 0
	.section .note.GNU-stack, "", %progbits
