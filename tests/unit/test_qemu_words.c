/* SPDX-License-Identifier: Apache-2.0 */
/* Which words of a person's QEMU gets: disks with their formats, and no other way out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "sandbox/engine/qemu_line.h"

static const char *const no_words[] = {NULL};

/* --- a tree with a few files --- */

static enum path_kind kind(const void *ctx, const char *path)
{
	static const struct {
		const char *path;
		enum path_kind kind;
	} files[] = {
		{"/work/disk.qcow2", PATH_FILE},
		{"/work/disk.img", PATH_FILE},
		{"/work/a,b.img", PATH_FILE},
		{"/work/a:b.img", PATH_FILE},
		{"/work/seed.iso", PATH_FILE},
		{"/work/vmlinuz", PATH_LINK},
		{"/work/initrd", PATH_FILE},
		{"/srv/data.raw", PATH_FILE},
		{"/work", PATH_DIR},
		{"/dev/sda", PATH_OTHER},
	};

	for (size_t i = 0; i < sg_array_len(files); i++)
		if (strcmp(files[i].path, path) == 0)
			return files[i].kind;
	return PATH_NONE;
}

static const struct tree tree = {.kind = kind};

static struct qemu_request request(const char *image, const char *const *words)
{
	return (struct qemu_request){.host = &tree, .cwd = "/work", .image = image, .words = words};
}

static char *joined(char **words)
{
	static char text[8192];

	*text = 0;
	for (; words && *words; words++) {
		strcat(text, *words);
		if (words[1])
			strcat(text, " ");
	}
	return text;
}

static void passes(const struct qemu_request *r, const char *words, const char *ro, const char *rw)
{
	struct qemu_words q;
	struct err e = {""};

	if (qemu_words_read(r, &q, &e))
		fail_msg("refused: %s", e.text);
	assert_string_equal(joined(q.words), words);
	assert_string_equal(joined(q.ro), ro);
	assert_string_equal(joined(q.rw), rw);
	qemu_words_free(&q);
}

#define REFUSES(image, part, ...)                                                                \
	do {                                                                                     \
		const char *const list[] = {__VA_ARGS__, NULL};                                  \
		struct qemu_request asked = request(image, list);                                \
		struct qemu_words got;                                                           \
		struct err why = {""};                                                           \
                                                                                                 \
		if (!qemu_words_read(&asked, &got, &why))                                        \
			fail_msg("%s was passed on as: %s", list[0], joined(got.words));         \
		if (!strstr(why.text, part))                                                     \
			fail_msg("%s: the message is \"%s\", without \"%s\"", list[0], why.text, \
				 part);                                                          \
	} while (0)

/* --- disks --- */

static void an_image_is_a_disk_that_keeps_nothing(void **state)
{
	struct qemu_request r = request("disk.qcow2", no_words);

	passes(&r, "-drive file=/work/disk.qcow2,format=qcow2,if=virtio,snapshot=on",
	       "/work/disk.qcow2", "");
	r.image = "disk.img";
	passes(&r, "-drive file=/work/disk.img,format=raw,if=virtio,snapshot=on", "/work/disk.img",
	       "");
}

static void what_rw_names_is_written(void **state)
{
	static const char *const file[] = {"./disk.qcow2", NULL};
	static const char *const folder[] = {"/work", NULL};
	static const char *const other[] = {"/srv", NULL};
	struct qemu_request r = request("disk.qcow2", NULL);
	const char *written = "-drive file=/work/disk.qcow2,format=qcow2,if=virtio";

	r.rw = folder;
	passes(&r, written, "", "/work/disk.qcow2");
	r.rw = other;
	passes(&r, "-drive file=/work/disk.qcow2,format=qcow2,if=virtio,snapshot=on",
	       "/work/disk.qcow2", "");
	/* "./" is no other file. */
	r.rw = file;
	passes(&r, written, "", "/work/disk.qcow2");
}

static void a_comma_in_a_name_ends_nothing(void **state)
{
	struct qemu_request r = request("a,b.img", NULL);

	passes(&r, "-drive file=/work/a,,b.img,format=raw,if=virtio,snapshot=on", "/work/a,b.img",
	       "");
	REFUSES("a,readonly=on,file=/etc/shadow", "no such file", "-m", "1");
}

static void drives_are_made_whole(void **state)
{
	static const char *const more[] = {
		"-drive",  "file=/srv/data.raw,format=raw,if=virtio,readonly=on",
		"--drive", "if=none,file=disk.img,format=raw,id=a",
		"-cdrom",  "seed.iso",
		NULL};
	struct qemu_request r = request(NULL, more);

	passes(&r,
	       "-drive file=/srv/data.raw,format=raw,if=virtio,readonly=on "
	       "--drive if=none,file=/work/disk.img,format=raw,id=a,snapshot=on "
	       "-drive file=/work/seed.iso,media=cdrom,format=raw,readonly=on",
	       "/srv/data.raw /work/disk.img /work/seed.iso", "");
}

static void a_format_is_never_guessed(void **state)
{
	REFUSES(NULL, "add format=raw", "-drive", "file=disk.img");
	REFUSES(NULL, "add format=qcow2", "-drive", "file=disk.qcow2,if=virtio");
	REFUSES(NULL, "no format of a disk", "-drive", "file=disk.img,format=nbd");
	REFUSES(NULL, "would be guessed", "-hda", "disk.img");
	REFUSES(NULL, "--image", "disk.img");
	REFUSES(NULL, "name its file", "-drive", "if=virtio,format=raw");
}

static void a_disk_is_a_file(void **state)
{
	static const char *const protocols[] = {
		"nbd:127.0.0.1:10809",
		"nbd+unix:///x?socket=/run/x",
		"http://example.com/x",
		"ssh://host/x",
		"iscsi://host/x",
		"fat:rw:/work",
		"json:{\"driver\":\"nbd\"}",
		"a:b.img",
	};

	for (size_t i = 0; i < sg_array_len(protocols); i++) {
		char drive[200];

		snprintf(drive, sizeof(drive), "file=%s,format=raw", protocols[i]);
		REFUSES(NULL, "only files of this machine", "-drive", drive);
		REFUSES(protocols[i], "only files of this machine", "-m", "1");
	}
	REFUSES("/dev/sda", "no device of the host's", "-m", "1");
	REFUSES("/work", "no folder", "-m", "1");
	REFUSES("nothing.img", "no such file", "-m", "1");
	REFUSES(NULL, "two files", "-drive", "file=disk.img,format=raw,file=seed.iso");
	REFUSES(NULL, "is not among", "-drive", "file.driver=nbd,format=raw");
	REFUSES(NULL, "is not among", "-drive",
		"file=disk.img,format=raw,backing.file=/etc/passwd");
	REFUSES(NULL, "KEY=VALUE", "-drive", "disk.img");
}

/* --- other words --- */

static void files_are_found_from_the_working_directory(void **state)
{
	static const char *const words[] = {"-kernel", "vmlinuz", "--initrd",	"./initrd",
					    "-append", "a=b,c",	  "-no-reboot", NULL};
	struct qemu_request r = request(NULL, words);

	passes(&r, "-kernel /work/vmlinuz --initrd /work/initrd -append a=b,c -no-reboot",
	       "/work/vmlinuz /work/initrd", "");
}

static void words_for_the_firmware_may_name_a_file(void **state)
{
	static const char *const words[] = {"-fw_cfg", "name=opt/x,file=seed.iso", "-smbios",
					    "type=1,serial=ds=nocloud", NULL};
	struct qemu_request r = request(NULL, words);

	passes(&r, "-fw_cfg name=opt/x,file=/work/seed.iso -smbios type=1,serial=ds=nocloud",
	       "/work/seed.iso", "");
	REFUSES(NULL, "no such file", "-fw_cfg", "name=opt/x,file=/etc/shadow");
}

static void devices_that_lead_nowhere_pass(void **state)
{
	static const char *const words[] = {
		"-device", "virtio-balloon-pci", "-device", "driver=virtio-scsi-pci,id=s",
		"-object", "iothread,id=t",	 NULL};
	struct qemu_request r = request(NULL, words);

	passes(&r,
	       "-device virtio-balloon-pci -device driver=virtio-scsi-pci,id=s -object "
	       "iothread,id=t",
	       "", "");
}

static void every_other_way_out_is_refused_in_words(void **state)
{
	static const struct {
		const char *option, *value, *part;
	} rows[] = {
		{"-netdev", "user,id=n", "--publish"},
		{"-nic", "user", "--publish"},
		{"-net", "nic", "--publish"},
		{"-device", "e1000,netdev=net", "one network device"},
		{"-device", "virtio-net-pci", "one network device"},
		{"-device", "usb-net", "one network device"},
		{"-device", "vhost-vsock-pci,guest-cid=3", "no gate sees"},
		{"-device", "vhost-user-fs-pci,chardev=c", "no folder"},
		{"-device", "virtio-9p-pci", "no folder"},
		{"-device", "vfio-pci,host=01:00.0", "no device of the host's"},
		{"-device", "usb-host", "no device of the host's"},
		{"-device", "ivshmem-plain", "no memory is shared"},
		{"-device", "virtserialport,chardev=c", "channel past the gate"},
		{"-device", "virtio-gpu-pci", "no display"},
		{"-device", "anything-else", "sandgate vm-net"},
		{"-device", "id=x,driver=virtio-net-pci", "write what it is first"},
		{"-object", "filter-dump,id=f,netdev=net,file=x", "sandgate vm-net"},
		{"-object", "memory-backend-file,mem-path=/x", "sandgate vm-net"},
		{"-object", "id=x,qom-type=filter-dump", "write what it is first"},
		{"-virtfs", "local,path=/", "no folder"},
		{"-fsdev", "local,path=/", "no folder"},
		{"-chardev", "socket,path=/x,id=c", "channel past the gate"},
		{"-serial", "tcp::4444,server", "channel past the gate"},
		{"-monitor", "tcp::4444,server", "channel past the gate"},
		{"-qmp", "unix:/x,server", "channel past the gate"},
		{"-gdb", "tcp::1234", "channel past the gate"},
		{"-add-fd", "fd=3,set=1", "channel past the gate"},
		{"-incoming", "tcp::4444", "from a disk"},
		{"-loadvm", "x", "from a disk"},
		{"-vnc", ":0", "no display"},
		{"-spice", "port=5900", "no display"},
		{"-display", "gtk", "no display"},
		{"-readconfig", "x", "write its options out"},
		{"-sandbox", "off", "sandgate sets it"},
		{"-usbdevice", "host:1", "no device of the host's"},
		{"-blockdev", "driver=nbd", "-drive"},
		{"-writeconfig", "x", "not among the words"},
		{"-plugin", "x.so", "not among the words"},
		{"-runas", "root", "not among the words"},
		{"-trace", "x", "not among the words"},
		{"-D", "x", "not among the words"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++)
		REFUSES("disk.img", rows[i].part, rows[i].option, rows[i].value);
	REFUSES("disk.img", "channel past the gate", "-s");
	REFUSES("disk.img", "sandgate start", "-daemonize");
	REFUSES("disk.img", "value is missing", "-m");
	REFUSES("disk.img", "an option of QEMU's", "-");
	REFUSES("disk.img", "not among the words", "--");
}

/* --- the whole line --- */

static char *line(const struct qemu_request *r, bool kvm)
{
	struct machine_link link = {.fd = 3, .mac = {0x02, 0x73, 0x67, 0, 0, 2}, .mtu = 1500};
	struct qemu_words q;
	struct qemu_setup s = {.path = "/q",
			       .name = "vm",
			       .link = &link,
			       .words = &q,
			       .button = 4,
			       .kvm = kvm,
			       .cpus = 2};
	struct err e;
	char **words;
	char *text;

	assert_int_equal(qemu_words_read(r, &q, &e), 0);
	words = qemu_line_make(&s);
	assert_non_null(words);
	text = joined(words);
	machine_words_free(words);
	qemu_words_free(&q);
	return text;
}

static void a_line_has_one_link_and_nothing_unasked(void **state)
{
	struct qemu_request r = request("disk.img", NULL);
	const char *text = line(&r, false);

	assert_non_null(strstr(text, "/q -nodefaults -no-user-config -display none -sandbox on,"));
	assert_non_null(strstr(text, " -netdev tap,id=net,fd=3,vhost=off -device virtio-net-pci,"
				     "romfile=,netdev=net,mac=02:73:67:00:00:02,host_mtu=1500 "));
	assert_non_null(strstr(text, " -accel tcg -cpu max -m 1024 -smp 2 "));
	assert_null(strstr(text, "-append"));
	assert_null(strstr(text, "-fw_cfg"));
	assert_non_null(strstr(line(&r, true), " -accel kvm -cpu host "));
}

static void what_the_person_names_is_not_said_twice(void **state)
{
	static const char *const words[] = {"-M", "microvm,accel=tcg", "-m",	  "64", "-smp",
					    "1",  "-kernel",	       "vmlinuz", NULL};
	struct qemu_request r = request(NULL, words);
	const char *text = line(&r, true);

	assert_null(strstr(text, "-accel"));
	assert_null(strstr(text, "-machine"));
	assert_null(strstr(text, "-m 1024"));
	assert_null(strstr(text, "-smp 2"));
	assert_null(strstr(text, "-pci"));
	assert_non_null(strstr(text, "virtio-net-device,netdev=net"));
	assert_non_null(strstr(text, "-append " QEMU_CONSOLE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_is_a_disk_that_keeps_nothing),
		cmocka_unit_test(what_rw_names_is_written),
		cmocka_unit_test(a_comma_in_a_name_ends_nothing),
		cmocka_unit_test(drives_are_made_whole),
		cmocka_unit_test(a_format_is_never_guessed),
		cmocka_unit_test(a_disk_is_a_file),
		cmocka_unit_test(files_are_found_from_the_working_directory),
		cmocka_unit_test(words_for_the_firmware_may_name_a_file),
		cmocka_unit_test(devices_that_lead_nowhere_pass),
		cmocka_unit_test(every_other_way_out_is_refused_in_words),
		cmocka_unit_test(a_line_has_one_link_and_nothing_unasked),
		cmocka_unit_test(what_the_person_names_is_not_said_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
