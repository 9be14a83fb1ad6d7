"""Functions of C programs whose calls are known: tail calls, calls by a pointer, longjmp()."""

# After <setjmp.h>. ``deep(n)`` leaves n + 1 calls by longjmp() to ``out``.
CALLEES = """
#define FUNCTION __attribute__((noinline, noclone))
static jmp_buf out;
volatile unsigned long sink;
FUNCTION unsigned long leaf(unsigned long x)
{
    for (int i = 0; i < 10; i++)
        x = x * 3 + (x >> 5);
    return x;
}
FUNCTION unsigned long tail(unsigned long x) { return leaf(x + 1); }
FUNCTION unsigned long twice(unsigned long x)
{
    unsigned long y = tail(x);
    return y + leaf(y);
}
FUNCTION void deep(int n)
{
    sink += leaf(n);
    if (!n)
        longjmp(out, 1);
    deep(n - 1);
    sink++;
}
FUNCTION unsigned long indirect(unsigned long (*f)(unsigned long), unsigned long x)
{
    return f(x) + 1;
}
"""
