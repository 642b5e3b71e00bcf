# SPDX-License-Identifier: Apache-2.0
"""embed.py NAME FILE OUT: an assembler source that carries FILE between NAME_begin and NAME_end."""

import os
import sys

name, path, out = sys.argv[1:]
with open(out, "w", encoding="utf-8") as f:
    f.write(f"""/* Made by tools/embed.py. */
	.section .rodata
	.globl {name}_begin, {name}_end
	.p2align 4
{name}_begin:
	.incbin "{os.path.abspath(path)}"
{name}_end:
	.section .note.GNU-stack, "", %progbits
""")
