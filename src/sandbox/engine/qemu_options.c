/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/qemu_options.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

/* What would be another way between the guest and the host, and what there is instead of it. */
#define NETWORK                                                                      \
	"a machine has one network device, which leads to the gate; --publish lets " \
	"connections in, --host-port reaches the host"
#define CHANNEL                                                                      \
	"it would be a channel past the gate; the console is on this terminal, and " \
	"sandgate stop ends the machine"
#define FOLDER                                                                 \
	"no folder is shared with a machine; put the files on a disk: -drive " \
	"file=FILE,format=raw,readonly=on"
#define DISPLAY                                                                     \
	"a machine has no display; its console is on this terminal, and --publish " \
	"lets ssh in"
#define GUESSED                                                                      \
	"its format would be guessed from what a guest wrote; name it: --image, or " \
	"-drive file=FILE,format=raw"
#define HOST_DEVICE "no device of the host's is handed in"
#define FIXED	    "sandgate sets it"
#define STATE	    "the state of a machine is not taken from elsewhere; start it from a disk"
#define OWN_LINE    "sandgate vm-net runs a command line of your own"

static const struct qemu_option options[] = {
	{"M", QEMU_PLAIN, NULL},
	{"machine", QEMU_PLAIN, NULL},
	{"accel", QEMU_PLAIN, NULL},
	{"acpitable", QEMU_LISTED, NULL},
	{"action", QEMU_PLAIN, NULL},
	{"append", QEMU_PLAIN, NULL},
	{"bios", QEMU_FILE, NULL},
	{"boot", QEMU_PLAIN, NULL},
	{"cdrom", QEMU_CDROM, NULL},
	{"cpu", QEMU_PLAIN, NULL},
	{"device", QEMU_DEVICE, NULL},
	{"drive", QEMU_DRIVE, NULL},
	{"dtb", QEMU_FILE, NULL},
	{"enable-kvm", QEMU_SWITCH, NULL},
	{"fw_cfg", QEMU_LISTED, NULL},
	{"initrd", QEMU_FILE, NULL},
	{"kernel", QEMU_FILE, NULL},
	{"m", QEMU_PLAIN, NULL},
	{"name", QEMU_PLAIN, NULL},
	{"no-acpi", QEMU_SWITCH, NULL},
	{"no-hpet", QEMU_SWITCH, NULL},
	{"no-reboot", QEMU_SWITCH, NULL},
	{"numa", QEMU_PLAIN, NULL},
	{"object", QEMU_OBJECT, NULL},
	{"rtc", QEMU_PLAIN, NULL},
	{"smbios", QEMU_LISTED, NULL},
	{"smp", QEMU_PLAIN, NULL},
	{"uuid", QEMU_PLAIN, NULL},
	{"watchdog-action", QEMU_PLAIN, NULL},

	{"net", QEMU_REFUSED, NETWORK},
	{"netdev", QEMU_REFUSED, NETWORK},
	{"nic", QEMU_REFUSED, NETWORK},
	{"add-fd", QEMU_REFUSED, CHANNEL},
	{"chardev", QEMU_REFUSED, CHANNEL},
	{"debugcon", QEMU_REFUSED, CHANNEL},
	{"gdb", QEMU_REFUSED, CHANNEL},
	{"mon", QEMU_REFUSED, CHANNEL},
	{"monitor", QEMU_REFUSED, CHANNEL},
	{"parallel", QEMU_REFUSED, CHANNEL},
	{"qmp", QEMU_REFUSED, CHANNEL},
	{"qmp-pretty", QEMU_REFUSED, CHANNEL},
	{"s", QEMU_REFUSED, CHANNEL},
	{"semihosting", QEMU_REFUSED, CHANNEL},
	{"semihosting-config", QEMU_REFUSED, CHANNEL},
	{"serial", QEMU_REFUSED, CHANNEL},
	{"fsdev", QEMU_REFUSED, FOLDER},
	{"virtfs", QEMU_REFUSED, FOLDER},
	{"curses", QEMU_REFUSED, DISPLAY},
	{"display", QEMU_REFUSED, DISPLAY},
	{"full-screen", QEMU_REFUSED, DISPLAY},
	{"nographic", QEMU_REFUSED, "it is so already"},
	{"sdl", QEMU_REFUSED, DISPLAY},
	{"spice", QEMU_REFUSED, DISPLAY},
	{"vga", QEMU_REFUSED, DISPLAY},
	{"vnc", QEMU_REFUSED, DISPLAY},
	{"blockdev", QEMU_REFUSED, "write it as -drive file=FILE,format=raw"},
	{"fda", QEMU_REFUSED, GUESSED},
	{"fdb", QEMU_REFUSED, GUESSED},
	{"hda", QEMU_REFUSED, GUESSED},
	{"hdb", QEMU_REFUSED, GUESSED},
	{"hdc", QEMU_REFUSED, GUESSED},
	{"hdd", QEMU_REFUSED, GUESSED},
	{"mtdblock", QEMU_REFUSED, GUESSED},
	{"pflash", QEMU_REFUSED, GUESSED},
	{"sd", QEMU_REFUSED, GUESSED},
	{"snapshot", QEMU_REFUSED, "it is so already, but for what --rw names"},
	{"usbdevice", QEMU_REFUSED, HOST_DEVICE},
	{"daemonize", QEMU_REFUSED, "sandgate create and sandgate start run it in the background"},
	{"nodefaults", QEMU_REFUSED, FIXED},
	{"no-user-config", QEMU_REFUSED, FIXED},
	{"readconfig", QEMU_REFUSED, "write its options out"},
	{"sandbox", QEMU_REFUSED, FIXED},
	{"incoming", QEMU_REFUSED, STATE},
	{"loadvm", QEMU_REFUSED, STATE},
};

static const char *const drive_keys[] = {
	"aio",	    "bus",    "cache",	"copy-on-read", "detect-zeroes", "discard",
	"file",	    "format", "id",	"if",		"index",	 "media",
	"readonly", "rerror", "serial", "unit",		"snapshot",	 "werror",
};

static const char *const formats[] = {"raw", "qcow2", "qed", "vdi", "vhdx", "vmdk", "vpc"};

/* Disks and their buses, memory, random numbers and a watchdog: nothing that leads out. */
static const char *const devices[] = {
	"floppy",
	"i6300esb",
	"ich9-ahci",
	"ide-cd",
	"ide-hd",
	"ioh3420",
	"lsi53c895a",
	"megasas",
	"nvme",
	"nvme-ns",
	"pci-bridge",
	"pcie-pci-bridge",
	"pcie-root-port",
	"pvpanic",
	"pvpanic-pci",
	"scsi-cd",
	"scsi-hd",
	"usb-kbd",
	"usb-mouse",
	"usb-tablet",
	"virtio-balloon-device",
	"virtio-balloon-pci",
	"virtio-blk-device",
	"virtio-blk-pci",
	"virtio-rng-device",
	"virtio-rng-pci",
	"virtio-scsi-device",
	"virtio-scsi-pci",
	"vmgenid",
};

static const struct {
	const char *part; /* of a device's name */
	const char *instead;
} refused_devices[] = {
	{"vsock", "it would be a way to the host that no gate sees; " NETWORK},
	{"9p", FOLDER},
	{"-fs-", FOLDER},
	{"vhost", HOST_DEVICE},
	{"vfio", HOST_DEVICE},
	{"host", HOST_DEVICE},
	{"ivshmem", "no memory is shared with a machine"},
	{"net", NETWORK},
	{"e1000", NETWORK},
	{"rtl8139", NETWORK},
	{"vmxnet3", NETWORK},
	{"ne2k", NETWORK},
	{"i825", NETWORK},
	{"pcnet", NETWORK},
	{"tulip", NETWORK},
	{"serial", CHANNEL},
	{"console", CHANNEL},
	{"redir", CHANNEL},
	{"vga", DISPLAY},
	{"VGA", DISPLAY},
	{"gpu", DISPLAY},
};

static const char *const objects[] = {
	"iothread", "memory-backend-memfd", "memory-backend-ram", "rng-builtin", "throttle-group",
};

static bool is_in(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	return false;
}

const struct qemu_option *qemu_option_find(const char *name)
{
	for (size_t i = 0; i < sg_array_len(options); i++)
		if (strcmp(options[i].name, name) == 0)
			return &options[i];
	return NULL;
}

const char *qemu_device_refusal(const char *name)
{
	if (is_in(devices, sg_array_len(devices), name))
		return NULL;
	for (size_t i = 0; i < sg_array_len(refused_devices); i++)
		if (strstr(name, refused_devices[i].part))
			return refused_devices[i].instead;
	return OWN_LINE;
}

const char *qemu_object_refusal(const char *name)
{
	return is_in(objects, sg_array_len(objects), name) ? NULL : OWN_LINE;
}

bool qemu_drive_knows(const char *key)
{
	return is_in(drive_keys, sg_array_len(drive_keys), key);
}

bool qemu_format_is_known(const char *format)
{
	return is_in(formats, sg_array_len(formats), format);
}
