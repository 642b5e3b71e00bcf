/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/container_offer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/control/client.h"
#include "sandbox/control/exec_wire.h"

#define OFFER_MAGIC UINT64_C(0x7367686f6f6b0001)

enum { HELLO_MS = 5000 };

struct offer_hello {
	uint64_t magic;
	char token[OFFER_TOKEN_SIZE];
};

struct offer_answer {
	uint64_t magic;
	struct err refusal; /* empty: go on */
};

/* --- the ticket --- */

int container_offer_ticket(const char *name, char out[OFFER_TICKET_SIZE], struct err *e)
{
	uint8_t octets[OFFER_TOKEN_OCTETS];
	size_t n = (size_t)snprintf(out, OFFER_TICKET_SIZE, "%s/", name);

	if (getrandom(octets, sizeof(octets), 0) != sizeof(octets))
		return err_set(e, "random octets for a container: %s", err_why(errno));
	for (size_t i = 0; i < sizeof(octets); i++)
		n += (size_t)snprintf(out + n, OFFER_TICKET_SIZE - n, "%02x", octets[i]);
	return 0;
}

bool container_offer_parse(const char *ticket, char name[SANDBOX_NAME_SIZE],
			   char token[OFFER_TOKEN_SIZE])
{
	const char *slash = strchr(ticket, '/');
	size_t n = slash ? (size_t)(slash - ticket) : SANDBOX_NAME_SIZE;

	if (n >= SANDBOX_NAME_SIZE || strlen(slash + 1) != OFFER_TOKEN_SIZE - 1 ||
	    slash[1 + strspn(slash + 1, "0123456789abcdef")])
		return false;
	memcpy(name, ticket, n);
	name[n] = 0;
	memcpy(token, slash + 1, OFFER_TOKEN_SIZE);
	return sandbox_name_valid(name);
}

/* --- the hook --- */

static int hear_answer(int connection, const char *name, struct err *e)
{
	struct offer_answer a;
	ssize_t n;

	do
		n = recv(connection, &a, sizeof(a), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(a) || a.magic != OFFER_MAGIC)
		return err_set(e, "%s: the sandbox has ended before it was ready for its container",
			       name);
	a.refusal.text[ERR_MAX - 1] = 0;
	return a.refusal.text[0] ? err_set(e, "%s", a.refusal.text) : 0;
}

int container_offer_make(const char *ticket, int netns, int process, struct err *e)
{
	struct offer_hello hello = {.magic = OFFER_MAGIC};
	const int fds[] = {netns, process};
	char name[SANDBOX_NAME_SIZE];
	_cleanup_fd_ int connection = -1;
	int rc;

	if (!container_offer_parse(ticket, name, hello.token))
		return err_set(e, "the annotation sandgate.sandbox is for `sandgate run --engine "
				  "podman` to write; name a policy with sandgate.policy");
	connection = client_connect(name, HOOK_SOCKET, e);
	if (connection < 0)
		return -1;
	rc = exec_send(connection, &hello, sizeof(hello), fds, sg_array_len(fds));
	if (rc == 0)
		rc = exec_send(connection, "", 1, NULL, 0);
	if (rc)
		return err_set(e, "%s: handing the container to its sandbox: %s", name,
			       err_why(-rc));
	return hear_answer(connection, name, e);
}

/* --- the supervisor --- */

int container_offer_listen(int dir, struct err *e)
{
	int fd = control_socket_listen(dir, HOOK_SOCKET);

	return fd < 0 ? err_set(e, "the socket for the container's hook: %s", err_why(-fd)) : fd;
}

static bool is_readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

static bool is_same_token(const char *ticket, const struct offer_hello *h)
{
	char name[SANDBOX_NAME_SIZE], token[OFFER_TOKEN_SIZE];
	unsigned differ = 0;

	if (h->magic != OFFER_MAGIC || !container_offer_parse(ticket, name, token))
		return false;
	for (size_t i = 0; i < OFFER_TOKEN_SIZE; i++)
		differ |= (unsigned char)token[i] ^ (unsigned char)h->token[i];
	return differ == 0;
}

int container_offer_take(int listener, const char *ticket, struct container_offer *out)
{
	int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int fds[EXEC_FDS_MAX], n_fds = 0;
	struct offer_hello h;
	struct ucred who;
	ssize_t n = 0;

	*out = CONTAINER_OFFER_NONE;
	if (connection < 0)
		return 0;
	if (control_socket_peer_is_own(connection, &who) && is_readable(connection, HELLO_MS))
		n = exec_receive(connection, &h, sizeof(h), fds, &n_fds);
	if (n == (ssize_t)sizeof(h) && n_fds == 2 && is_same_token(ticket, &h)) {
		*out = (struct container_offer){connection, fds[0], fds[1]};
		return 1;
	}
	exec_close_all(fds, n_fds);
	close(connection);
	return 0;
}

int container_offer_answer(const struct container_offer *o, const struct err *refusal)
{
	struct offer_answer a = {.magic = OFFER_MAGIC};
	char octet;

	/* An end of a connection with something unread takes the answer away as well. */
	while (recv(o->connection, &octet, sizeof(octet), MSG_DONTWAIT) > 0)
		;
	if (refusal)
		a.refusal = *refusal;
	return exec_send(o->connection, &a, sizeof(a), NULL, 0);
}

void container_offer_close(struct container_offer *o)
{
	int fds[] = {o->connection, o->netns, o->process};

	for (size_t i = 0; i < sg_array_len(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*o = CONTAINER_OFFER_NONE;
}
