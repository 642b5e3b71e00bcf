#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_install.sh BUILD_FOLDER: `meson install` puts the binary, the pages and the completions in
# place, and the binary runs from there.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
DESTDIR=$place meson install -C "$1" --no-rebuild --quiet

status=0
expect() {
	[ -s "$(find "$place" -path "*/$1" -type f)" ] || {
		echo "not installed: $1"
		status=1
	}
}
expect bin/sandgate
for page in sandgate sandgate-run sandgate-create sandgate-exec sandgate-ls sandgate-egress \
	sandgate-net sandgate-policy sandgate-config sandgate-org sandgate-doctor; do
	expect "man/man1/$page.1"
done
expect man/man5/sandgate-policy.5
expect man/man7/sandgate-permissions.7
expect bash-completion/completions/sandgate
expect zsh/site-functions/_sandgate
expect fish/vendor_completions.d/sandgate.fish
"$(find "$place" -path '*/bin/sandgate')" version
exit $status
