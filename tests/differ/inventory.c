// Functions whose items callgrind counts, too: every way to call, return, jump, divide and lock.
#include <stdint.h>

static volatile uint64_t sink;
static char buffer[256];

__attribute__((noinline)) static void leaf(void) { sink++; }

__attribute__((noinline)) static unsigned fib(unsigned n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static void call_by_pointer(void (*volatile *function)(void), int times) {
  for (int i = 0; i < times; i++) (*function)();
}

__attribute__((noinline)) static void lock_and_divide(uint64_t *at, uint64_t by, int times) {
  for (int i = 0; i < times; i++) {
    __atomic_fetch_add(at, i / by, __ATOMIC_SEQ_CST);
    if (i % 3 == 0) __atomic_exchange_n(at, i, __ATOMIC_SEQ_CST);
  }
}

__attribute__((noinline)) static int jump_by_table(int times) {
  int sum = 0;
  for (int i = 0; i < times; i++) {
    switch (i % 7) {
      case 0: sum += 3; break;
      case 1: sum ^= i; break;
      case 2: sum -= 7; break;
      case 3: sum *= 3; break;
      case 4: leaf(); break;
      case 5: sum |= i; break;
      default: sum += i;
    }
  }
  return sum;
}

#ifdef __x86_64__
__attribute__((noinline)) static void fill(long bytes) {
  void *to = buffer;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
}

__attribute__((noinline)) static void order(void) {
  __asm__ volatile("mfence; lfence; sfence; pause" ::: "memory");
}
#else
__attribute__((noinline)) static void order(void) {
  __asm__ volatile("dmb ish; dsb ish; isb; yield" ::: "memory");
}
#endif

int main(void) {
  void (*volatile function)(void) = leaf;
  uint64_t number = 5;
  sink = fib(15);
  call_by_pointer(&function, 300);
  lock_and_divide(&number, 3, 200);
  sink += jump_by_table(700);
  for (int i = 0; i < 40; i++) {
#ifdef __x86_64__
    fill(100);
#endif
    order();
  }
  return 0;
}
