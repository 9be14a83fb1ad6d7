/*
 * arm64-module CALLS: in a window, loads /modules/RELEASE.ko (the loop module) and asks it CALLS
 * times for a free device.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "profdiff.h"

int main(int argc, char **argv)
{
	struct utsname kernel;
	char path[200];
	uname(&kernel);
	snprintf(path, sizeof(path), "/modules/%s.ko", kernel.release);
	int module = open(path, O_RDONLY), calls = argc > 1 ? atoi(argv[1]) : 0;
	PROFDIFF_START();
	/* Observed once more, the module is there already. */
	syscall(SYS_finit_module, module, "", 0);
	int control = open("/dev/loop-control", O_RDWR), last = 0;
	for (int n = 0; n < calls && last >= 0; n++)
		last = ioctl(control, LOOP_CTL_GET_FREE);
	PROFDIFF_STOP();
	if (module < 0 || control < 0 || last < 0) {
		perror("arm64-module");
		return 1;
	}
	printf("free loop device: %d\n", last);
	return 0;
}
