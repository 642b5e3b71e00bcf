/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/container.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "docker/message.h"

enum { ANSWER_MAX = 64 << 20, ANSWER_SECONDS = 3, READ_STEP = 64 << 10 };

/* --- the answers --- */

static int not_understood(struct err *e)
{
	return err_set(e, "dockerd's answer is not understood");
}

static bool take_name(const char *s, char out[DOCKER_NAME_SIZE])
{
	if (!s || !*s || strlen(s) >= DOCKER_NAME_SIZE)
		return false;
	strcpy(out, s);
	return true;
}

/* Before it has started a container is there by its endpoint alone. */
static const char *name_of_endpoint(const json_t *network, const char *endpoint)
{
	json_t *all = json_object_get(network, "Containers");
	const char *key;
	json_t *one;

	json_object_foreach(all, key, one)
	{
		const char *id = json_string_value(json_object_get(one, "EndpointID"));

		if (id && strcmp(id, endpoint) == 0)
			return json_string_value(json_object_get(one, "Name"));
	}
	return NULL;
}

/* Of several names (links) the container's own has no further slash. */
static bool has_name(const json_t *container, const char *name)
{
	const json_t *names = json_object_get(container, "Names");

	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *s = json_string_value(json_array_get(names, i));

		if (s && *s == '/' && strcmp(s + 1, name) == 0)
			return true;
	}
	return false;
}

static json_t *networks_of(const json_t *containers, const char *name)
{
	for (size_t i = 0; i < json_array_size(containers); i++) {
		const json_t *one = json_array_get(containers, i);

		if (has_name(one, name))
			return json_object_get(json_object_get(one, "NetworkSettings"), "Networks");
	}
	return NULL;
}

/* Networks are keys by the name, or the id, that the person wrote. */
static int find_other(json_t *networks, const char *name, const char *id,
		      char out[DOCKER_NAME_SIZE], struct err *e)
{
	const char *key;
	json_t *one;

	*out = '\0';
	json_object_foreach(networks, key, one)
	{
		if (strcmp(key, name) != 0 && strcmp(key, id) != 0 && !take_name(key, out))
			return not_understood(e);
	}
	return 0;
}

int docker_container_read(const json_t *network, const json_t *containers, const char *endpoint,
			  struct docker_container *out, struct err *e)
{
	const char *name = json_string_value(json_object_get(network, "Name"));
	const char *id = json_string_value(json_object_get(network, "Id"));
	json_t *networks;

	*out->name = *out->other = '\0';
	if (!name || !id || !take_name(name_of_endpoint(network, endpoint), out->name))
		return not_understood(e);
	networks = networks_of(containers, out->name);
	if (!json_is_object(networks))
		return not_understood(e);
	return find_other(networks, name, id, out->other, e);
}

bool docker_name_valid(const char *s)
{
	size_t n = strlen(s);

	return n > 0 && n < DOCKER_NAME_SIZE && *s != '-' && *s != '.' &&
	       strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-") == n;
}

int docker_network_read(const json_t *network, char id[DOCKER_ID_SIZE], char name[DOCKER_NAME_SIZE],
			struct err *e)
{
	const char *its_id = json_string_value(json_object_get(network, "Id"));
	const char *its_name = json_string_value(json_object_get(network, "Name"));
	const char *driver = json_string_value(json_object_get(network, "Driver"));

	if (!its_id || !docker_id_valid(its_id) || !its_name || !driver)
		return not_understood(e);
	if (!docker_name_valid(its_name))
		return err_set(e,
			       "the network's name has characters that are no words of a command "
			       "line; name it with letters, digits and \"_.-\"");
	if (strcmp(driver, "sandgate") != 0)
		return err_set(e,
			       "%s is a network of the driver `%.32s`; make one with docker "
			       "network create -d sandgate",
			       its_name, driver);
	strcpy(id, its_id);
	strcpy(name, its_name);
	return 0;
}

/* --- the questions --- */

static int connect_to(const char *path, struct err *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const struct timeval limit = {.tv_sec = ANSWER_SECONDS};
	struct ucred who;
	socklen_t n = sizeof(who);
	int fd;

	if (strlen(path) >= sizeof(a.sun_path))
		return err_set(e, "%s: the path is too long for a socket", path);
	strcpy(a.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(e, "a socket: %s", err_why(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
		err_set(e, "%s: %s; --docker-socket says where dockerd listens", path,
			strerror(errno));
	else if (who.uid != 0)
		err_set(e, "%s: who listens there is not root", path);
	else
		return fd;
	close(fd);
	return -1;
}

/* All that comes until the other side closes; NULL with errno without an end of it in time. */
static char *read_answer(int fd, size_t *n)
{
	char *text = NULL, *grown;
	ssize_t r = 1;

	for (*n = 0; r > 0; *n += r > 0 ? (size_t)r : 0) {
		grown = *n < ANSWER_MAX ? realloc(text, *n + READ_STEP) : NULL;
		if (!grown)
			break;
		text = grown;
		r = recv(fd, text + *n, READ_STEP, 0);
	}
	if (r == 0)
		return text;
	free(text);
	errno = r < 0 ? errno : ENOMEM;
	return NULL;
}

/* HTTP/1.0, which no server answers in chunks and which ends with its connection. */
static json_t *parse_answer(const char *text, size_t n)
{
	static const char good[] = "HTTP/1.0 200", end[] = "\r\n\r\n";
	const char *body;

	if (n < sizeof(good) || memcmp(text, good, sizeof(good) - 1) != 0)
		return NULL;
	body = memmem(text, n, end, sizeof(end) - 1);
	if (!body)
		return NULL;
	body += sizeof(end) - 1;
	return json_loadb(body, n - (size_t)(body - text), JSON_REJECT_DUPLICATES, NULL);
}

static bool is_not_found(const char *text, size_t n)
{
	static const char status[] = "HTTP/1.0 404";

	return n >= sizeof(status) && memcmp(text, status, sizeof(status) - 1) == 0;
}

/* 0 and the answer, or as docker_container_find; -ENOENT with the message. */
static int get(const char *socket, const char *path, json_t **answer, struct err *e)
{
	_cleanup_fd_ int fd = connect_to(socket, e);
	_cleanup_free_ char *text = NULL;
	char request[256];
	int length = snprintf(request, sizeof(request),
			      "GET %s HTTP/1.0\r\nHost: docker\r\nAccept: application/json\r\n\r\n",
			      path);
	size_t n = 0;

	if (fd < 0)
		return -1;
	if (send(fd, request, (size_t)length, MSG_NOSIGNAL) == length)
		text = read_answer(fd, &n);
	if (!text && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 1;
	if (text && is_not_found(text, n))
		return err_set(e, "dockerd knows no %s", path), -ENOENT;
	*answer = text ? parse_answer(text, n) : NULL;
	return *answer ? 0 : err_set(e, "%s: dockerd gave no answer to %s", socket, path);
}

int docker_container_find(const char *socket, const char *network, const char *endpoint,
			  struct docker_container *out, struct err *e)
{
	char path[DOCKER_ID_SIZE + 16];
	json_t *its_network = NULL, *containers = NULL;
	int rc;

	snprintf(path, sizeof(path), "/networks/%s", network);
	rc = get(socket, path, &its_network, e);
	if (rc == 0)
		rc = get(socket, "/containers/json?all=1", &containers, e);
	if (rc == 0)
		rc = docker_container_read(its_network, containers, endpoint, out, e);
	json_decref(containers);
	json_decref(its_network);
	return rc == -ENOENT ? -1 : rc;
}

int docker_network_find(const char *socket, const char *word, char id[DOCKER_ID_SIZE],
			char name[DOCKER_NAME_SIZE], struct err *e)
{
	char path[DOCKER_NAME_SIZE + 16];
	json_t *network = NULL;
	int rc;

	if (!docker_name_valid(word))
		return err_set(e, "it is no name of a network: letters, digits and \"_.-\"");
	snprintf(path, sizeof(path), "/networks/%s", word);
	rc = get(socket, path, &network, e);
	if (rc == 1)
		err_set(e, "%s: dockerd does not answer; try again", socket);
	if (rc == -ENOENT)
		err_set(e, "docker has no network %s; docker network create -d sandgate %s", word,
			word);
	if (rc == 0)
		rc = docker_network_read(network, id, name, e);
	json_decref(network);
	return rc ? -1 : 0;
}
