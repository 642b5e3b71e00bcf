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
expect man/man1/sandgate.1
# A page for each command, where it is or by a line that leads there.
sandgate=$(find "$place" -path '*/bin/sandgate')
pages=$("$sandgate" help | sed -n 's/^  \([a-z]*\( [a-z][a-z]*\)\{0,1\}\)   *[a-z].*/sandgate-\1/p' | tr ' ' -)
[ "$(echo "$pages" | wc -l)" -gt 25 ] || {
	echo "not the list of commands: $pages"
	status=1
}
for page in $pages; do
	expect "man/man1/$page.1"
	leads=$(sed -n 's/^\.so //p' "$(find "$place" -path "*/man1/$page.1")")
	[ -z "$leads" ] || expect "man/$leads"
done
expect man/man5/sandgate-policy.5
expect man/man7/sandgate-permissions.7
expect bash-completion/completions/sandgate
expect zsh/site-functions/_sandgate
expect fish/vendor_completions.d/sandgate.fish
"$sandgate" version
exit $status
