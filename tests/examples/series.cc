// SPDX-License-Identifier: GPL-2.0-or-later
// The benchmarks of examples/mprotect-series, by google/benchmark itself: its console is the oracle.
#include <benchmark/benchmark.h>

static void mprotect_pte(benchmark::State &state)
{
	for (auto _ : state)
		for (int i = 0; i < 1000; i++)
			benchmark::DoNotOptimize(i);
}
BENCHMARK(mprotect_pte)->Arg(4)->Arg(400)->Iterations(10);

BENCHMARK_MAIN();
