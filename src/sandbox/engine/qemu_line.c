/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/qemu_line.h"

#include <stdarg.h>
#include <stdio.h>

#include "sandbox/name_list.h"

/* Of a machine that has to hold an ordinary system; QEMU's own 128 MiB do not. */
#define MEMORY "1024"

enum { VALUE_MAX = 512 };

static void add(struct name_list *l, const char *option, const char *value)
{
	name_list_add(l, option);
	if (value)
		name_list_add(l, value);
}

static void add_made(struct name_list *l, const char *option, const char *fmt, ...) sg_printf(3, 4);
static void add_made(struct name_list *l, const char *option, const char *fmt, ...)
{
	char value[VALUE_MAX];
	va_list args;

	va_start(args, fmt);
	if (vsnprintf(value, sizeof(value), fmt, args) >= (int)sizeof(value))
		l->failed = true;
	va_end(args);
	add(l, option, value);
}

/* Nothing that was not asked for, and no new process or privilege for QEMU itself. */
static void add_bounds(struct name_list *l)
{
	add(l, "-nodefaults", NULL);
	add(l, "-no-user-config", NULL);
	add(l, "-display", "none");
	add(l, "-sandbox",
	    "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
}

/* Without a monitor on the terminal: what the guest prints could make a terminal answer it. */
static void add_channels(struct name_list *l, const struct qemu_setup *s)
{
	add(l, "-chardev", "stdio,id=console,mux=on,signal=off");
	add(l, "-serial", "chardev:console");
	add_made(l, "-chardev", "socket,id=button,fd=%d", s->button);
	add(l, "-mon", "chardev=button,mode=readline");
}

static void add_machine(struct name_list *l, const struct qemu_setup *s)
{
	const struct qemu_words *w = s->words;

	if (!w->machine)
		add(l, "-machine", QEMU_MACHINE);
	if (!w->accel)
		add(l, "-accel", s->kvm ? "kvm" : "tcg");
	if (!w->accel && !w->cpu)
		add(l, "-cpu", s->kvm ? "host" : "max");
	if (!w->memory)
		add(l, "-m", MEMORY);
	if (!w->cpus)
		add_made(l, "-smp", "%u", s->cpus);
}

/* `romfile` empty: nothing is loaded over the network before the system is. */
static void add_network(struct name_list *l, const struct qemu_setup *s)
{
	const struct machine_link *link = s->link;
	char mac[MAC_TEXT];

	machine_mac_print(link->mac, mac);
	add_made(l, "-netdev", "tap,id=net,fd=%d,vhost=off", link->fd);
	add_made(l, "-device", "virtio-net-%s,netdev=net,mac=%s,host_mtu=%u",
		 s->words->without_pci ? "device" : "pci,romfile=", mac, link->mtu);
}

char **qemu_line_make(const struct qemu_setup *s)
{
	struct name_list l = {0};

	name_list_add(&l, s->path);
	add_bounds(&l);
	add_made(&l, "-name", "guest=%s", s->name);
	add_channels(&l, s);
	add_machine(&l, s);
	add(&l, "-device", s->words->without_pci ? "virtio-rng-device" : "virtio-rng-pci");
	if (s->link)
		add_network(&l, s);
	if (s->authorities)
		add_made(&l, "-fw_cfg", "name=opt/sandgate/ca.pem,file=%s", s->authorities);
	for (char **w = s->words->words; w && *w; w++)
		name_list_add(&l, *w);
	if (s->words->kernel && !s->words->append)
		add(&l, "-append", QEMU_CONSOLE);
	if (!l.failed)
		return l.v;
	name_list_free(l.v);
	return NULL;
}
