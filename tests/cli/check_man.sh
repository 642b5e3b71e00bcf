#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_man.sh PAGE...: the pages format without a warning, on a narrow terminal too.
command -v man >/dev/null || {
	echo "man is not installed"
	exit 77
}
status=0
for page; do
	for width in 80 200; do
		said=$(LC_ALL=C.UTF-8 MANWIDTH=$width man --warnings -l "$page" 2>&1 >/dev/null)
		[ -z "$said" ] || {
			echo "$page: $said"
			status=1
		}
	done
done
exit $status
