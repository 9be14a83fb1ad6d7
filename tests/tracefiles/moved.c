/* Code that a compiler moves, merges and makes conditional; run with the number of rounds. */
#include <stdlib.h>

struct parts {
	long first, second, third, fourth;
};

long sink;

__attribute__((noinline)) void call(long value)
{
	sink += value;
	__asm__ volatile("" ::: "memory");
}

/* Becomes a conditional move. */
__attribute__((noinline)) void chosen(struct parts *one, int wanted)
{
	long result = one->first;

	if (wanted)
		result |= 4;
	call(result);
}

/* What both ways compute is computed before. */
__attribute__((noinline)) void hoisted(struct parts *one, int wanted)
{
	if (wanted)
		call(one->second * 3 + one->third);
	else
		call(one->second * 3 + 1);
}

/* The stores of both ways become one. */
__attribute__((noinline)) void merged(struct parts *one, int wanted)
{
	if (wanted) {
		call(1);
		one->third = 3;
	} else {
		call(2);
		one->third = 3;
	}
	call(3);
}

__attribute__((noinline)) void merged_two(struct parts *one, int wanted)
{
	if (wanted) {
		one->first = 5;
		call(1);
		one->third = 3;
		sink = 7;
	} else {
		one->second = 6;
		call(2);
		one->third = 3;
		sink = 7;
	}
	call(3);
}

/* Two ends of a loop's body are alike. */
__attribute__((noinline)) long looped(long *every, int number)
{
	long found = 0;

	for (int i = 0; i < number; i++) {
		if (every[i] == 3) {
			call(1);
			found++;
			continue;
		}
		if (every[i] == 4) {
			call(2);
			found++;
			continue;
		}
		call(4);
	}
	return found;
}

static inline __attribute__((always_inline)) long inner(struct parts *one, int wanted)
{
	if (wanted > 1 &&
	    one->fourth)
		return one->third * 2;
	return one->first;
}

__attribute__((noinline)) void inlined(struct parts *one, int wanted)
{
	call(inner(one, wanted));
	call(inner(one, wanted + 1));
}

/* Two ways of leaving with one value. */
__attribute__((noinline)) long left(struct parts *one, int wanted)
{
	long error = -22;

	if (wanted == 7)
		goto out;
	error = -12;
	if (!one)
		return 0;
	call(one->second);
	if (wanted == 9) {
		error = -1;
		goto out;
	}
	error = 0;
out:
	call(error);
	return error;
}

int main(int number, char **words)
{
	struct parts one = {1, 2, 3, 4};
	long every[] = {3, 5, 3};
	long rounds = number > 1 ? atol(words[1]) : 1;

	for (long i = 0; i < rounds; i++) {
		chosen(&one, 0);
		hoisted(&one, i & 1);
		merged(&one, i & 1);
		merged_two(&one, i & 1);
		looped(every, 3);
		inlined(&one, i & 1);
		left(&one, 1);
	}
	return sink == 12345;
}
