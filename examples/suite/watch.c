/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch WHAT OPS: watches a folder on tmpfs. watch adds one and removes it; event writes a byte to
 * a file and reads the event; idle writes a byte to a file while another folder is watched.
 */
#include "variants.h"

#include <linux/fanotify.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>

static int notify, file;

static void make_files(void)
{
	enter_tmpfs(NULL);
	must(mkdir("folder", 0700), "mkdir");
	must(mkdir("other", 0700), "mkdir");
	file = must(open("folder/file", O_RDWR | O_CREAT, 0600), "open");
}

static void make_notify(void)
{
	make_files();
	notify = must(inotify_init1(IN_CLOEXEC), "inotify_init1");
}

static void watch_folder(void)
{
	make_notify();
	must(inotify_add_watch(notify, "folder", IN_MODIFY), "inotify_add_watch");
}

static void watch_other(void)
{
	make_notify();
	must(inotify_add_watch(notify, "other", IN_MODIFY), "inotify_add_watch");
}

static void mark_folder(void)
{
	make_files();
	notify = must(fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY), "fanotify_init");
	must(fanotify_mark(notify, FAN_MARK_ADD, FAN_MODIFY | FAN_EVENT_ON_CHILD, AT_FDCWD,
			   "folder"),
	     "fanotify_mark");
}

static void op_watch(void)
{
	int watch = must(inotify_add_watch(notify, "folder", IN_MODIFY), "inotify_add_watch");

	must(inotify_rm_watch(notify, watch), "inotify_rm_watch");
}

static void op_write(void)
{
	must(pwrite(file, "x", 1, 0), "pwrite");
}

static void op_event(void)
{
	struct inotify_event events[16];

	op_write();
	must(read(notify, events, sizeof(events)), "read of an inotify");
}

static void op_fanotify(void)
{
	struct fanotify_event_metadata event;

	op_write();
	must(read(notify, &event, sizeof(event)), "read of a fanotify");
	close(event.fd);
}

static const struct variant variants[] = {
	{ "watch", make_notify, op_watch },
	{ "event", watch_folder, op_event },
	{ "idle", watch_other, op_write },
	{ "fanotify", mark_folder, op_fanotify },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
