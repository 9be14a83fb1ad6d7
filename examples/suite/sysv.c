/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sysv WHAT OPS: System V semaphores, shared memory and messages, and POSIX message queues, within
 * one process.
 */
#include "variants.h"

#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

static int id;
static mqd_t queue;

static void make_sem(void)
{
	id = must(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600), "System V semaphores");
}

static void make_msg(void)
{
	id = must(msgget(IPC_PRIVATE, IPC_CREAT | 0600), "System V messages");
}

static void make_shm(void)
{
	id = must(shmget(IPC_PRIVATE, 64 << 10, IPC_CREAT | 0600), "System V shared memory");
}

static void remove_sem(void)
{
	semctl(id, 0, IPC_RMID);
}

static void remove_msg(void)
{
	msgctl(id, IPC_RMID, NULL);
}

static void remove_shm(void)
{
	shmctl(id, IPC_RMID, NULL);
}

/* What is kept for the ops outlives this process, unless it is removed. */
static void keep_sem(void)
{
	make_sem();
	atexit(remove_sem);
}

static void keep_msg(void)
{
	make_msg();
	atexit(remove_msg);
}

static void keep_shm(void)
{
	make_shm();
	atexit(remove_shm);
}

static void make_mq(void)
{
	struct mq_attr attributes = { .mq_maxmsg = 4, .mq_msgsize = 64 };

	queue = must(mq_open("/suite", O_RDWR | O_CREAT, 0600, &attributes),
		     "POSIX message queues");
}

static void keep_mq(void)
{
	make_mq();
	mq_unlink("/suite");
}

static void op_semop(void)
{
	struct sembuf up = { .sem_op = 1 }, down = { .sem_op = -1 };

	must(semop(id, &up, 1), "semop");
	must(semop(id, &down, 1), "semop");
}

static void op_semget(void)
{
	make_sem();
	must(semctl(id, 0, IPC_RMID), "IPC_RMID");
}

static void op_msg(void)
{
	struct {
		long type;
		char text[64];
	} message = { .type = 1 };

	must(msgsnd(id, &message, sizeof(message.text), 0), "msgsnd");
	must(msgrcv(id, &message, sizeof(message.text), 1, 0), "msgrcv");
}

static void op_shmat(void)
{
	void *at = shmat(id, NULL, 0);

	if (at == (void *)-1)
		failed("shmat");
	must(shmdt(at), "shmdt");
}

static void op_shmget(void)
{
	make_shm();
	must(shmctl(id, IPC_RMID, NULL), "IPC_RMID");
}

static void op_mq(void)
{
	char text[64] = "";

	must(mq_send(queue, text, sizeof(text), 0), "mq_send");
	must(mq_receive(queue, text, sizeof(text), NULL), "mq_receive");
}

static void op_mq_open(void)
{
	make_mq();
	must(mq_close(queue), "mq_close");
	must(mq_unlink("/suite"), "mq_unlink");
}

static const struct variant variants[] = {
	{ "semop", keep_sem, op_semop },
	{ "semget", NULL, op_semget },
	{ "msg", keep_msg, op_msg },
	{ "shmat", keep_shm, op_shmat },
	{ "shmget", NULL, op_shmget },
	{ "mq", keep_mq, op_mq },
	{ "mq_open", NULL, op_mq_open },
	{}
};

int main(int argc, char **argv)
{
	return run_variant(variants, "WHAT OPS", argc, argv);
}
