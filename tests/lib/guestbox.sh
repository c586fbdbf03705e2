#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# guestbox.sh APP PROGRAM [ARG]... - within namespaces that the caller made (mount, pid, net, ipc): what a backend gives a guest.
# APP becomes the application's folder, owned by uid 1000; /run is empty; /etc/hosts and /etc/resolv.conf are copies.
set -e
app=$1
shift
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir /run/etc
for file in hosts resolv.conf; do
	cat "/etc/$file" >"/run/etc/$file" 2>/dev/null || : >"/run/etc/$file"
	mount --bind "/run/etc/$file" "/etc/$file"
done
mount -t tmpfs -o mode=0755,uid=1000,gid=1000 tmpfs "$app"
exec "$@"
