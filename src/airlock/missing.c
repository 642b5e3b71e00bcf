/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/missing.h"

#include <errno.h>
#include <string.h>

#include "airlock/sysctl.h"

struct missing_facts missing_read_facts(void)
{
	return (struct missing_facts){
		.unprivileged_userns_clone = sysctl_read("kernel/unprivileged_userns_clone", -1),
		.apparmor_restrict_userns =
			sysctl_read("kernel/apparmor_restrict_unprivileged_userns", -1),
	};
}

int missing_userns(const struct missing_facts *f, int error, struct err *e)
{
	if (error == ENOSPC || error == EUSERS)
		return err_set(e, "no more user namespaces may be made; as root: sysctl -w "
				  "user.max_user_namespaces=15000 (two are needed a sandbox)");
	if (error == EINVAL)
		return err_set(e, "this kernel has no user namespaces; use one with "
				  "CONFIG_USER_NS=y");
	if (f->unprivileged_userns_clone == 0)
		return err_set(e, "user namespaces are off for ordinary users; as root: sysctl -w "
				  "kernel.unprivileged_userns_clone=1");
	if (f->apparmor_restrict_userns > 0)
		return err_set(e, "AppArmor keeps programs from using user namespaces; as root: "
				  "give sandgate an AppArmor profile with the rule \"userns,\", or "
				  "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
	return err_set(e,
		       "cannot make a user namespace: %s; in a container, allow "
		       "unshare(CLONE_NEWUSER) (seccomp, AppArmor); in a chroot there are none: "
		       "enter the folder with systemd-nspawn",
		       strerror(error));
}

int missing_netns(const struct missing_facts *f, int error, struct err *e)
{
	if (error == ENOSPC)
		return err_set(e, "no more network namespaces may be made; as root: sysctl -w "
				  "user.max_net_namespaces=15000 (two are needed a sandbox)");
	if (error == EINVAL)
		return err_set(e, "this kernel has no network namespaces; use one with "
				  "CONFIG_NET_NS=y");
	/* AppArmor lets the user namespace be made and takes the privilege in it away. */
	if (error == EPERM)
		return missing_userns(f, error, e);
	return err_set(e, "cannot make a network namespace: %s", err_why(error));
}

int missing_tun(int error, struct err *e)
{
	if (error == ENOENT || error == ENODEV || error == ENXIO || error == ENOTDIR)
		return err_set(e,
			       "there is no /dev/net/tun; as root: modprobe tun (in a container: "
			       "add the device)");
	if (error == EACCES)
		return err_set(e, "/dev/net/tun may not be opened; as root: chmod 0666 "
				  "/dev/net/tun (it gives no privilege over the host's network)");
	if (error == EPERM)
		return err_set(e, "/dev/net/tun may not be used; in a container, allow the device "
				  "(c 10:200 rwm) in its device list");
	return err_set(e, "cannot make a tun device: %s", err_why(error));
}

int missing_link(const char *doing, int error, struct err *e)
{
	if (error == EOPNOTSUPP && strstr(doing, "veth"))
		return err_set(e, "the kernel has no veth devices; as root: modprobe veth");
	if ((error == EOPNOTSUPP || error == EAFNOSUPPORT) && strstr(doing, "rule"))
		return err_set(e, "the kernel has no policy routing; use one with "
				  "CONFIG_IP_MULTIPLE_TABLES=y and CONFIG_IPV6_MULTIPLE_TABLES=y");
	return err_set(e, "cannot %s: %s", doing, err_why(error));
}
