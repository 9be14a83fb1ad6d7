// SPDX-License-Identifier: GPL-2.0-or-later
// Benchmarks whose rows test what is read of google/benchmark: several sizes, a counter, a unit, a
// label that looks like a time, a statistic of its own, an error, threads.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

static void touch(benchmark::State &state)
{
	std::vector<char> bytes(state.range(0));
	for (auto _ : state)
		for (char &byte : bytes)
			benchmark::DoNotOptimize(byte++);
	state.SetBytesProcessed(state.iterations() * state.range(0));
	state.counters["pages"] = state.range(0) / 4096.0;
}
BENCHMARK(touch)->Arg(4096)->Arg(65536);

static void labelled(benchmark::State &state)
{
	for (auto _ : state)
		for (int i = 0; i < 3000; i++)
			benchmark::DoNotOptimize(i);
	state.SetLabel("a label: 3 ms");
}

static double most(const std::vector<double> &times)
{
	return *std::max_element(times.begin(), times.end());
}
BENCHMARK(labelled)->Unit(benchmark::kMicrosecond)->ComputeStatistics("most", most);

static void fails(benchmark::State &state)
{
	state.SkipWithError("on purpose");
	for (auto _ : state)
		;
}
BENCHMARK(fails);

static void threads(benchmark::State &state)
{
	for (auto _ : state)
		benchmark::DoNotOptimize(1);
}
BENCHMARK(threads)->UseRealTime()->Threads(2);

BENCHMARK_MAIN();
