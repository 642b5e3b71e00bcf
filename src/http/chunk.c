/* SPDX-License-Identifier: Apache-2.0 */
#include "http/chunk.h"

#include "base/hex.h"
#include "http/text.h"

const char http_chunk_line_too_long[] = "the extensions of a chunk are too long";

const char *http_chunk_line_parse(struct span line, uint64_t *size)
{
	size_t digits = 0;

	if (line.n > HTTP_CHUNK_LINE_MAX)
		return http_chunk_line_too_long;
	*size = 0;
	for (; digits < line.n && hex_value(line.p[digits]) >= 0; digits++) {
		if (*size > INT64_MAX >> 4)
			return "the size of a chunk is too large";
		*size = *size << 4 | (uint64_t)hex_value(line.p[digits]);
	}
	if (digits == 0 || (digits < line.n && line.p[digits] != ';'))
		return "the size of a chunk is not a hexadecimal number";
	if (!http_is_text(http_span_from(line, digits)))
		return "the extension of a chunk has a control character";
	return NULL;
}
