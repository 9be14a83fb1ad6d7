//! Exact instruction counts between marks: what both builds of the QEMU plugin share.
//!
//! Every translated instruction has an inline counter, which QEMU's generated code increments
//! when the instruction *starts*; so an instruction that faults half way through a block leaves
//! those behind it uncounted. Instructions that always start together share one. Marks are instructions that do nothing else; when one executes, a
//! callback takes a snapshot of all counters, and the difference between two snapshots is what
//! ran between them.
//!
//! - [`ffi`]: the part of QEMU's plugin API that did not change between versions
//! - [`architecture`]: what differs by the guest's architecture
//! - [`window`]: snapshots and what adds up between them
//! - [`slots`]: which counter belongs to which instruction
//! - [`counters`]: the counters, where they do not move
//! - [`stretches`]: instructions that start together, and the counter that they share
//! - [`counting`]: the counters of instructions, and how QEMU is asked to increment them
//! - [`iterations`]: of a repeated string instruction, which counts once
//! - [`repeated`]: the repeated string instructions, and what shows how often they iterate
//! - [`blocks`]: the blocks, and how far an execution of one came
//! - [`call_tree`]: who called whom, and what ran there
//! - [`waiting`]: the tasks that wait
//! - [`frames`]: what is under way in a task: calls, interrupts
//! - [`shadow_stack`]: what is under way on a vCPU
//! - [`calls`]: what shows that calls begin and end, by stack slots or by a link register
//! - [`vcpu`]: what a vCPU does
//! - [`tracker`]: follows execution from block to block
//! - [`following`]: what QEMU tells the tracker
//! - [`running`]: which vCPU executes, and where
//! - [`probes`]: values of variables where functions begin, and what they return
//! - [`allocations`]: memory that the kernel's allocators give out and take back
//! - [`returning`]: calls that have not returned yet
//! - [`clock`]: the guest's clock
//! - [`idling`]: for how long each vCPU idles
//! - [`turns`]: which vCPU executes, and how it hands over to the next
//! - [`random_numbers`]: random numbers that a seed gives again
//! - [`random_turns`]: vCPUs that take turns at random places
//! - [`pages`]: which page of a program runs where it was translated
//! - [`aliases`]: code that runs at several addresses
//! - [`memory`]: how much of it the plugin may take
//! - [`memory_map`]: from an access's address to its page
//! - [`extents`]: how many bytes an access has
//! - [`marked_window`]: when lines are recorded
//! - [`counts_file`]: the result, as written for the host
//! - [`arguments`]: the plugin's arguments
//! - [`console`]: the text on the console that ends the window of a boot
//! - [`collector`]: the plugin's state, and its callbacks
//! - [`sharing`]: instead of counts, which cache lines change hands
//! - [`lines`]: instead of counts, how many distinct lines are accessed

pub mod aliases;
pub mod allocations;
pub mod architecture;
mod architectures;
pub mod arguments;
pub mod block;
pub mod blocks;
pub mod call_tree;
pub mod calls;
pub mod clock;
pub mod collector;
pub mod console;
pub mod counters;
pub mod counting;
pub mod counts_file;
pub mod entries;
pub mod extents;
pub mod ffi;
pub mod following;
pub mod frames;
pub mod idling;
pub mod iterations;
pub mod lines;
pub mod marked_window;
pub mod memory;
pub mod memory_map;
pub mod node;
pub mod pages;
pub mod probes;
pub mod random_numbers;
pub mod random_turns;
pub mod recent;
pub mod repeated;
pub mod returning;
pub mod running;
pub mod shadow_stack;
pub mod sharing;
pub mod slots;
pub mod stretches;
pub mod tracker;
pub mod turns;
pub mod vcpu;
pub mod waiting;
pub mod window;
